"""The sections of params.yaml, one file per stage: DVC reruns the stages that use a section."""
