import numpy as np
from programs import State


def leapfrog(state, dt):
    position = state.position
    speed = state.speed
    t = 0.5 * dt
    for _ in range(3):
        speed = speed - t * position
        position = position + dt * speed
        speed -= t * position
    return State(position=position, speed=speed)
