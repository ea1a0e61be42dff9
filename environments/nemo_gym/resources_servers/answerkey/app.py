"""The server that NeMo Gym starts: answerkey.environments.nemo_gym."""

from answerkey.environments.nemo_gym import AnswerkeyServer

if __name__ == "__main__":
    AnswerkeyServer.run_webserver()
