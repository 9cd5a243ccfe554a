"""The velocities that kinematic rows allow, as `vector_fields`, and the directions that their Lie brackets reach, their `growth`."""
