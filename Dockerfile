# Answerkey, to run on a mounted folder as the user who owns it: docs/your-database.md, "In a
# container". Build the wheel before: python -m build --wheel && docker build -t answerkey .
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY requirements.lock dist/*.whl /tmp/answerkey/
RUN cd /tmp/answerkey && pip install --no-cache-dir -c requirements.lock "$(ls *.whl)[pipeline,convert]" && rm -r /tmp/answerkey
# `docker run --user` gives a number: git and DVC ask for a home and a name as well.
RUN mkdir -m 1777 /home/user
ENV HOME=/home/user USER=user DVC_NO_ANALYTICS=1
WORKDIR /work
USER 1000:1000
