"""The scripts that dvc.yaml runs, one a stage: `python -m stages.NAME`."""
