"""What makes, compares and grades the course's notebooks."""
