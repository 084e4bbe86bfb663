"""One episode, by hand: look, run the tests, submit."""

import gymnasium as gym

import codegym

env = gym.make("CodeGym/FixTests-v0", tasks="kvlog")
obs, info = env.reset(seed=7)
print(info["task_id"])
print(obs["instruction"])

obs, reward, terminated, truncated, info = env.step(codegym.call("bash", command="ls src"))
print(obs["output"])

obs, reward, terminated, truncated, info = env.step(codegym.call("run_tests"))
print(obs["failing"], "failing,", obs["passing"], "passing")

obs, reward, terminated, truncated, info = env.step(codegym.call("submit"))
print("reward", reward, "terminated", terminated)
print(info["grade"].text)
env.close()
