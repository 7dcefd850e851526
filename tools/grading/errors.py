"""Why something is not graded, by whose fault it is."""


class WrongInput(Exception):
    """The teacher's: what was asked for cannot be done. The message says what to do next."""


class Refused(Exception):
    """The student's: what was handed in cannot be graded. The message says why, to the student."""


class Failed(Exception):
    """Nobody's: the notebook could not be run here and now. The next run tries again."""
