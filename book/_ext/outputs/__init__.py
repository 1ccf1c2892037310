"""What executes notebooks and stores their outputs."""
