"""URIs: every spelling is one file, and answers are spelled as the client spells."""

from __future__ import annotations

from typing import Any

import pytest

from lsp_server.uris import VIRTUAL, Spellings, path_of

SPELLINGS = ["file:///c:/w/a.workfile.yaml", "file:///C:/w/a.workfile.yaml"]
SPELLINGS += ["file:///c%3A/w/a.workfile.yaml", "file:///C%3A/w/a.workfile.yaml"]
TEXT = 'workfile: "1.0"\nname: a\nsteps:\n  - one: { wf.wait: 1s }\nresult: "{{ one }}"\n'


def test_four_spellings_of_a_drive_are_one_path() -> None:
    assert len({path_of(uri) for uri in SPELLINGS}) == 1


@pytest.mark.parametrize("uri", SPELLINGS)
def test_other_files_of_a_drive_are_spelled_the_same_way(uri: str) -> None:
    spellings = Spellings()
    spellings.learn(uri)
    other = uri.replace("a.workfile", "b%20c.workfile")
    assert spellings.uri_of(path_of(other)) == other


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b.yaml", "/a/b.yaml"),
        ("file:///a/%C3%A4%20b.yaml", "/a/ä b.yaml"),
        ("file://localhost/a.yaml", "/a.yaml"),
        ("file:///a/../b.yaml", "/b.yaml"),
        ("file://Server/share/a.yaml", "//server/share/a.yaml"),
    ],
)
def test_files(uri: str, path: str) -> None:
    assert path_of(uri) == path


def test_a_path_and_its_uri_lead_back_to_each_other() -> None:
    for path in ("/a/b c.yaml", "/ä/€#%.yaml", "/x/[1]{2}.yaml", "/c:/d/e.yaml", "//server/share/a b.yaml"):
        assert path_of(Spellings().uri_of(path)) == path


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "git:/w/a.workfile.yaml?ref", "", "://", "file:", "file://[x"])
def test_what_is_no_file_is_kept_apart(uri: str) -> None:
    path = path_of(uri)
    assert path.startswith(VIRTUAL) or path == "/"
    assert "\x00" not in path


def test_one_document_under_every_spelling(server: Any) -> None:
    server.start()
    server.open(SPELLINGS[0], TEXT)
    for number, uri in enumerate(SPELLINGS[1:], start=2):
        change = {"text": TEXT.replace("1s", f"{number}s")}
        document = {"uri": uri, "version": number}
        server.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        assert len(server.server.files.open) == 1
        place = {"textDocument": {"uri": uri}, "position": {"line": 4, "character": 13}}
        found = server.request("textDocument/definition", place)
        assert [each["uri"] for each in found] == [uri]
    server.settle()
    assert {each["uri"] for each in server.published()} == {SPELLINGS[0]}
