"""What a check found: failures sorted by class, the smallest counterexample explained, the report as text, JSON and JUnit."""
