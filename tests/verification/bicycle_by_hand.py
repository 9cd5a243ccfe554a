"""The bicycle by vector mechanics: Newton's and Euler's laws for four bodies, projected on the virtual displacements.

Axes x forward, y right, z down. Every angular velocity is a sum of rates times axes, every velocity follows from the one before by
v + w x r, so the Jacobians are written down column by column; their rates come from one step in an imaginary direction, which is exact.
"""

import numpy as np

NAMES = ("x", "y", "yaw", "lean", "pitch", "steer", "rear", "front")
DOWN = np.array([0.0, 0.0, 1.0])
H = 1e-40


def turn(axis, angle):
    """Rodrigues' formula."""
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


def columns(**axes):
    found = np.zeros((3, 8), dtype=complex)
    for name, axis in axes.items():
        found[:, NAMES.index(name)] = axis
    return found


def cross(jacobian, arm):
    return np.cross(jacobian, arm, axisa=0, axisc=0)


def geometry(q, p):
    """Jacobians of velocities and spins of the bodies, of the slip at both contacts, rotations, and the height of the front wheel."""
    _, _, yaw, lean, pitch, steer, _, _ = q
    ahead = turn(DOWN, yaw) @ np.array([1.0, 0, 0])
    leaned = turn(ahead, lean) @ turn(DOWN, yaw)
    across = leaned @ np.array([0, 1.0, 0])
    frame = turn(across, pitch) @ leaned
    stem = frame @ np.array([np.sin(p["tilt"]), 0, np.cos(p["tilt"])])
    fork = turn(stem, steer) @ frame
    axle = fork @ np.array([0, 1.0, 0])
    w_frame = columns(yaw=DOWN, lean=ahead, pitch=across)
    w_rear = w_frame + columns(rear=across)
    w_fork = w_frame + columns(steer=stem)
    w_front = w_fork + columns(front=axle)
    up = leaned @ np.array([0, 0, -p["rR"]])
    v_rear = columns(x=[1, 0, 0], y=[0, 1, 0]) + cross(columns(yaw=DOWN, lean=ahead), up)
    to_body, to_stem = frame @ np.array([p["xB"], 0, p["zB"] + p["rR"]]), frame @ np.array([p["w"] + p["c"], 0, p["rR"]])
    to_hand, to_hub = fork @ np.array([p["xH"] - p["w"] - p["c"], 0, p["zH"]]), fork @ np.array([-p["c"], 0, -p["rF"]])
    v_stem = v_rear + cross(w_frame, to_stem)
    v_hub = v_stem + cross(w_fork, to_hub)
    lowest = (DOWN - axle[2] * axle) / np.sqrt(1 - axle[2] ** 2) * p["rF"]
    bodies = [
        (p["mR"], v_rear, w_rear, frame, (p["IRx"], p["IRy"], p["IRx"], 0.0)),
        (p["mB"], v_rear + cross(w_frame, to_body), w_frame, frame, (p["IBx"], p["IBy"], p["IBz"], p["IBxz"])),
        (p["mH"], v_stem + cross(w_fork, to_hand), w_fork, fork, (p["IHx"], p["IHy"], p["IHz"], p["IHxz"])),
        (p["mF"], v_hub, w_front, fork, (p["IFx"], p["IFy"], p["IFx"], 0.0)),
    ]
    slip_rear, slip_front = v_rear + cross(w_rear, -up), v_hub + cross(w_front, lowest)
    # the lowest point rises and falls with the wheel: the third line of its slip is the gradient of the height
    rows = np.vstack([slip_front[2:], slip_rear[:2], slip_front[:2]])
    return bodies, rows, (up + to_stem + to_hub + lowest)[2]


def rate(function, q, v):
    """The derivative along a velocity."""
    return function(q + 1j * H * v).imag / H


def bicycle(d, p, t):
    """Pitch by Newton's iteration, velocities from the rows, accelerations and multipliers from thirteen linear equations."""
    q = np.array([d.get(name, 0.0) for name in NAMES])
    for _ in range(20):
        _, rows, height = geometry(q, p)
        q[4] -= height.real / rows[0, 4].real
    bodies, rows, _ = geometry(q, p)
    free = [NAMES.index(name) for name in ("lean", "steer", "rear")]
    bound = [k for k in range(8) if k not in free]
    v = np.zeros(8)
    v[free] = [d["lean'"], d["steer'"], d["rear'"]]
    v[bound] = np.linalg.solve(rows.real[:, bound], -rows.real[:, free] @ v[free])
    mass, force = np.zeros((8, 8)), np.zeros(8)
    for k, (m, jv, jw, rotation, (xx, yy, zz, xz)) in enumerate(bodies):
        jv, jw, rotation = jv.real, jw.real, rotation.real
        inertia = rotation @ np.array([[xx, 0, xz], [0, yy, 0], [xz, 0, zz]]) @ rotation.T
        left_v = rate(lambda z, k=k: geometry(z, p)[0][k][1] @ v, q, v)
        left_w = rate(lambda z, k=k: geometry(z, p)[0][k][2] @ v, q, v)
        spin = jw @ v
        mass += m * jv.T @ jv + jw.T @ inertia @ jw
        force += m * jv.T @ (p["g"] * DOWN - left_v) - jw.T @ (inertia @ left_w + np.cross(spin, inertia @ spin))
    rows = rows.real
    left = rate(lambda z: geometry(z, p)[1] @ v, q, v)
    whole = np.block([[mass, -rows.T], [rows, np.zeros((5, 5))]])
    found = np.linalg.solve(whole, np.concatenate([force, -left]))
    values = {name: q[k] for k, name in enumerate(NAMES)}
    values |= {f"{name}'": v[k] for k, name in enumerate(NAMES)} | {f"{name}''": found[k] for k, name in enumerate(NAMES)}
    return values | {f"lambda{k + 1}": found[8 + k] for k in range(5)}
