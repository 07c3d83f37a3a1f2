"""The softmax that reads its keys block by block."""
