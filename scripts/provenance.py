#!/usr/bin/env python3
"""Writes what a release was made of, as in-toto's statement with SLSA's predicate: the sums of the files, the
commit, and the versions of what compiled it. No time and no place: the same commit gives the same bytes.

    provenance.py FOLDER COMMIT REPOSITORY
"""
import json, pathlib, sys

import dist_files


def main():
    folder, commit, repository = pathlib.Path(sys.argv[1]), *sys.argv[2:4]
    subjects = [{"name": file.name, "digest": {"sha256": dist_files.sha256(file)}} for file in sorted(folder.iterdir())]
    inputs = [{"uri": f"git+{repository}", "digest": {"gitCommit": commit}}]
    locked = ["Cargo.lock", "packaging/nfpm/go.sum", "scripts/dist-requirements.txt", "scripts/wheel-requirements.txt"]
    inputs += [{"name": name, "digest": {"sha256": dist_files.sha256(pathlib.Path(name))}} for name in locked]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": f"{repository}/scripts/release",
                "externalParameters": {"commit": commit},
                "resolvedDependencies": inputs,
            },
            "runDetails": {"builder": {"id": f"{repository}/scripts/release", "version": {"rustc": dist_files.rustc()}}},
        },
    }
    print(json.dumps(statement, indent=1))


main()
