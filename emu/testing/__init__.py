"""Help for tests, of this project and of a user's own spec files: mutants of a spec and digests of what it means."""
