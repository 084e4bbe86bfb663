"""Four episodes of one task at a time, as a group-relative method wants them."""

import gymnasium as gym

import codegym

envs = gym.make_vec("CodeGym/FixTests-v0", num_envs=4, tasks="kvlog")
obs, infos = envs.reset(seed=7)
task_id = infos["task_id"][0]

obs, infos = envs.reset(seed=7, options={"task_id": [task_id] * 4})
print(list(infos["task_id"]))

submit = codegym.call("submit")
obs, rewards, terminations, truncations, infos = envs.step([submit] * 4)
print(rewards, terminations)
envs.close()
