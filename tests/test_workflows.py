"""What runs on a push: nothing is published untested, each job may do what it must."""

import copy
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.M))
MAY_WRITE = {"deploy": {"pages", "id-token"}, "report": {"issues"}}
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
                if "github.ref == 'refs/heads/main'" not in job.get("if", ""):
                    yield f"{where} publishes other branches than main"


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
        (lambda jobs: jobs["deploy"].update({"if": "always()"}), "other branches than main"),
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
    assert triggers["push"] == {"branches": ["main"]} and "pull_request" in triggers
    assert not {"push", "pull_request"} & set(WORKFLOWS["weekly.yml"][ON])


def test_each_python_that_is_promised_is_tried():
    tried = {p for job in ("test", "tools") for p in pythons(WORKFLOWS["course.yml"]["jobs"][job])}
    assert tried == {"3.11", "3.12", "3.13"}


def test_the_weekly_report_hears_of_each_job():
    jobs = WORKFLOWS["weekly.yml"]["jobs"]
    assert set(jobs["report"]["needs"]) == set(jobs) - {"report"}
    assert jobs["report"]["if"] == "always()"  # green, too: it closes the issue


def test_what_is_called_portable_is():
    names = re.search(r"^PORTABLE := (.*)$", MAKEFILE, re.M)[1].split()
    for name in names:
        path = ROOT / "tests" / f"test_{name}.py"
        assert path.exists(), f"Makefile: PORTABLE names {path.name}, which is not there"
        source = path.read_text(encoding="utf-8")
        found = re.findall(
            r"^from tools import .*\b(sandbox|grade)\b|^import (playwright)", source, re.M
        )
        assert not found, f"{path.name} needs {found}"


def test_ci_runs_readmes_commands():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    called = [line for line in lines if line.startswith("make ")]
    assert called == ["make book", "make test"] and all(f"    {line} " in readme for line in called)


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda p: p.name)
def test_github_reads_it(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)
