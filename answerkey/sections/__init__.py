"""The sections of params.yaml, a file a stage: DVC reruns the stages that read one."""
