"""What runs on a push: nothing is published untested, each job may do what it must."""

import copy
import json
import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions

import nbformat
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import lock
from tools.repository import ROOT, course

WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.M))
MAY_WRITE = {"deploy": {"pages", "id-token"}, "report": {"issues"}, "keep": {"contents"}}
ON = True  # how YAML 1.1 reads the key `on`


def commands(job):
    """The targets of make that a job runs, also those that its matrix names."""
    named = [
        row.get("command", "")
        for row in job.get("strategy", {}).get("matrix", {}).get("include", [])
    ]
    found = [
        t for step in job["steps"] for t in re.findall(r"\bmake ([\w-]+)", step.get("run", ""))
    ]
    return found + [name for name in named if name]


def uses(job):
    return [step["uses"] for step in job["steps"] if "uses" in step]


def pythons(job):
    rows = job.get("strategy", {}).get("matrix", {}).get("include", [])
    asked = [s.get("with", {}).get("python-version") for s in job["steps"]]
    return {row["python"] for row in rows} | {p for p in asked if p and "matrix" not in p}


def faults(workflows):
    """What is wrong with workflows, as sentences."""
    for file, workflow in workflows.items():
        if workflow.get("permissions") != {}:
            yield f"{file}: a job without permissions of its own must have none: permissions: {{}}"
        for name, job in workflow["jobs"].items():
            where, permissions = f"{file}: {name}", job.get("permissions")
            if not isinstance(permissions, dict):
                yield f"{where} must say what it may do"
                continue
            writes = {what for what, how in permissions.items() if how == "write"}
            if writes - MAY_WRITE.get(name, set()):
                yield f"{where} may write {', '.join(sorted(writes))}"
            if "timeout-minutes" not in job:
                yield f"{where} has no time limit"
            for action in uses(job):
                if not re.search(r"[@:]v?\d[\d.]*$", action):
                    yield f"{where} uses {action}, which is no fixed version"
            for target in commands(job):
                if target not in TARGETS:
                    yield f"{where} calls make {target}, which is not in the Makefile"
            if any("deploy-pages" in action for action in uses(job)):
                others = set(workflow["jobs"]) - {name}
                if not {"test", "site"} <= others <= set(job.get("needs", [])):
                    yield f"{where} does not wait for all other jobs, test and site among them"
                if f"github.ref == 'refs/heads/{course().branch}'" not in job.get("if", ""):
                    yield f"{where} publishes other branches than {course().branch}"


def test_the_workflows_are_sound():
    found = list(faults(WORKFLOWS))
    assert not found, "\n".join(found)
    deploying = [
        f for f, w in WORKFLOWS.items() for j in w["jobs"].values() if "deploy" in str(uses(j))
    ]
    assert deploying == ["course.yml"]


def planted(change):
    workflows = copy.deepcopy(WORKFLOWS)
    change(workflows["course.yml"]["jobs"])
    return "\n".join(faults(workflows))


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda jobs: jobs["deploy"]["needs"].remove("test"), "does not wait"),
        (lambda jobs: jobs["deploy"].update({"if": "always()"}), "other branches than"),
        (lambda jobs: jobs["site"].pop("permissions"), "must say what it may do"),
        (lambda jobs: jobs["site"].update(permissions="write-all"), "must say what it may do"),
        (lambda jobs: jobs["site"]["permissions"].update(contents="write"), "may write contents"),
        (lambda jobs: jobs["lint"].pop("timeout-minutes"), "no time limit"),
        (lambda jobs: jobs["lint"]["steps"].append({"run": "make tidy"}), "make tidy"),
        (lambda jobs: jobs["lint"]["steps"].append({"uses": "a/b@main"}), "no fixed version"),
    ],
)
def test_a_planted_fault_is_found(change, says):
    assert says in planted(change)


def test_a_commit_is_tested_once():
    """By the push on main, by the pull request elsewhere."""
    triggers = WORKFLOWS["course.yml"][ON]
    published = course().branch
    says = f"_config.yml publishes {published}: name it in course.yml, at push and at deploy"
    assert triggers["push"] == {"branches": [published]} and "pull_request" in triggers, says
    assert not {"push", "pull_request"} & set(WORKFLOWS["weekly.yml"][ON])


def test_each_python_that_is_promised_is_tried():
    tried = {p for job in ("test", "tools") for p in pythons(WORKFLOWS["course.yml"]["jobs"][job])}
    assert tried == {"3.11", "3.12", "3.13"}


def test_the_weekly_report_hears_of_each_job():
    jobs = WORKFLOWS["weekly.yml"]["jobs"]
    assert set(jobs["report"]["needs"]) == set(jobs) - {"report"}
    assert jobs["report"]["if"] == "always()"  # green, too: it closes the issue


def test_the_weekly_run_tries_new_seeds_and_keeps_what_it_found(tmp_path):
    """The job that runs the course's code may write nothing; the one that may write runs none."""
    jobs = WORKFLOWS["weekly.yml"]["jobs"]
    assert "make confirm K=1 FIRST=next" in [step.get("run") for step in jobs["confirm"]["steps"]]
    assert jobs["confirm"]["permissions"] == {"contents": "read"}
    git = {"cwd": tmp_path, "capture_output": True, "check": True, "encoding": "utf-8"}
    subprocess.run(["git", "init", "--quiet", "--bare", "far"], **git)
    subprocess.run(["git", "clone", "--quiet", "far", "near"], **git)
    bench = tmp_path / "near" / "bench"
    bench.mkdir()
    step = next(step["run"] for step in jobs["keep"]["steps"] if "run" in step)
    assert "make" not in step and "python" not in step
    for week in ("one", "two", "two"):  # a week in which nothing is new commits nothing
        for name in ("claims.json", "claims.md"):
            (bench / name).write_text(week, encoding="utf-8")
        bash = ["bash", "-e", "-o", "pipefail", "-c", step]
        subprocess.run(bash, **{**git, "cwd": tmp_path / "near"})
    far = {**git, "cwd": tmp_path / "far"}
    log = subprocess.run(["git", "log", "--all", "--oneline"], **far).stdout
    assert len(log.splitlines()) == 2


def test_ci_runs_readmes_commands():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    called = [line for line in lines if line.startswith("make ")]
    assert called == ["make book", "make test"] and all(f"    {line} " in readme for line in called)


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_github_reads_it(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


GH = """#!/usr/bin/env python3
import json, os, sys
words = " ".join(sys.argv[1:])
open(os.environ["SAID"], "a", encoding="utf-8").write(words + "\\n")
for beginning, answer in json.loads(os.environ["ANSWERS"]).items():
    if words.startswith(beginning):
        print(answer)
        sys.exit("HTTP" in answer)
"""


def run_step(job, name, answers, tmp_path, **environment):
    """(exit code, what it printed, asked of gh, its outputs) of a step; its gh answers as told."""
    step = next(step for step in job["steps"] if step.get("name") == name)
    (tmp_path / "gh").write_text(GH, encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    files = {"SAID": tmp_path / "said", "GITHUB_OUTPUT": tmp_path / "output"}
    for path in files.values():
        path.touch()
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],  # as GitHub runs it
        env=os.environ
        | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "ANSWERS": json.dumps(answers)}
        | {"GITHUB_REPOSITORY": "ada/course", "GH_REPO": "ada/course"}
        | {key: str(path) for key, path in files.items()}
        | environment,
        capture_output=True,
        encoding="utf-8",
    )
    said, output = (path.read_text(encoding="utf-8") for path in files.values())
    return done.returncode, done.stdout, said, output


@pytest.mark.parametrize(
    "issue, green, asked",
    [
        ("", "true", []),
        ("", "false", ["label create weekly", "issue create --label weekly"]),
        ("7", "false", ["issue comment 7"]),
        ("7", "true", ["issue close 7"]),
    ],
)
def test_the_weekly_run_keeps_one_issue(issue, green, asked, tmp_path):
    job = WORKFLOWS["weekly.yml"]["jobs"]["report"]
    name = "Open, continue or close the one issue"
    answers = {"repo view": "true", "issue list": issue}
    code, _, said, _ = run_step(job, name, answers, tmp_path, GREEN=green, RESULTS="r", RUN="u")
    done = [line for line in said.splitlines() if not line.startswith(("repo view", "issue list"))]
    assert code == 0 and len(done) == len(asked)
    assert all(line.startswith(begin) for line, begin in zip(done, asked, strict=True))


def test_the_weekly_run_lets_a_repository_without_issues_be(tmp_path):
    job = WORKFLOWS["weekly.yml"]["jobs"]["report"]
    name, answers = "Open, continue or close the one issue", {"repo view": "false"}
    code, out, said, _ = run_step(job, name, answers, tmp_path, GREEN="false", RESULTS="r", RUN="u")
    assert code == 0 and "::notice::" in out and "issue" not in said


@pytest.mark.parametrize(
    "answer, code, output, says",
    [
        ("workflow", 0, "pages=on\n", ""),
        ("legacy", 0, "", "Settings > Pages"),  # it publishes a branch
        ("gh: Not Found (HTTP 404)", 0, "", "Settings > Pages"),  # a fork's first push is green
        ("gh: Server Error (HTTP 502)", 1, "", ""),
    ],
)
def test_a_repository_without_pages_is_told(answer, code, output, says, tmp_path):
    job, name = WORKFLOWS["course.yml"]["jobs"]["site"], "Is there a site to publish to?"
    found = run_step(job, name, {"api repos/ada/course/pages": answer}, tmp_path)
    assert (found[0], found[3]) == (code, output) and says in found[1]


ALONE = """
import asyncio
import sys
from pathlib import Path

class NotInstalled:
    def find_spec(name, *_):
        if name.split(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotInstalled)
from tools.pages import colab
print(asyncio.run(colab.check(Path({notebook!r}), sys.executable)).faults)
"""


def test_the_weekly_job_installs_what_the_tool_needs(tmp_path):
    job = WORKFLOWS["weekly.yml"]["jobs"]["colab-live-pins"]
    step = next(s["run"] for s in job["steps"] if "pip install" in s.get("run", ""))
    asked = step.split("requirements.lock ")[1].split()
    installed = lock.reachable([Requirement(name) for name in asked])
    missing = [
        module
        for module, packages in packages_distributions().items()
        if not {canonicalize_name(name) for name in packages} & set(installed)
    ]
    assert "torch" in missing and "nbformat" not in missing
    cell = nbformat.v4.new_code_cell("print(1)")
    cell.outputs = [nbformat.v4.new_output("stream", text="1\n")]
    path = tmp_path / "book" / "small.ipynb"
    path.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    code = ALONE.format(missing=missing, notebook=str(path))
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert run.stdout == "[]\n", f"{step}: {run.stdout}{run.stderr[-2000:]}"
