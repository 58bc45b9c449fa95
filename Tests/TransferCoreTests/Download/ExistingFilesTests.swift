// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import TransferCore

@Suite("What existing files under a download's name mean")
struct ExistingFilesTests {
    private static let target = FileTarget(directory: "", name: "f")
    private static let url = "http://a/f?key=1"

    private static func rules(
        _ rule: IfExistsRule,
        named: Bool = false,
        exact: Bool = false,
        whole: Bool = true,
        mark: String? = nil,
        digests: Bool = false,
        running: IfRunningRule? = nil,
        replaceable: FileIdentity? = nil
    ) -> ExistingFiles {
        ExistingFiles(
            rule: rule,
            ifRunning: running ?? IfRunningRule(following: rule),
            isNamedByUser: named,
            isExact: exact,
            asksForWhole: whole,
            mark: mark,
            hasDigests: digests,
            sources: [MachineHarness.url(self.url)],
            replaceable: replaceable
        )
    }

    private static func file(_ size: Int64 = 10, regular: Bool = true, mark: String? = nil) -> ExistingFile {
        ExistingFile(isRegular: regular, size: size, modified: 0, mark: mark)
    }

    private static func ours(
        _ url: String = Self.url,
        _ written: Int64 = 5,
        continuing file: ExistingFile? = nil
    ) -> PartialState {
        var facts = ResourceFacts(url: url)
        facts.continued = file?.identity
        return .ours(facts, written: written)
    }

    private static func word(_ step: ExistingFiles.Step) -> String {
        switch step {
        case .nextName: "next name"
        case .requestedName: "requested name"
        case .fetch(let overwrites): overwrites ? "fetch over" : "fetch"
        case .resume(let isForeign, let overwrites):
            "resume" + (isForeign ? " foreign" : "") + (overwrites ? " over" : "")
        case .resumeUnpaired: "resume unpaired"
        case .continueExisting(_, let overwrites): overwrites ? "continue over" : "continue"
        case .examine: "examine"
        case .revalidate: "revalidate"
        case .compareDigests(_, let overwrites): overwrites ? "digests over" : "digests"
        case .replayedCommit: "replayed"
        case .skip: "skip"
        case .wait: "wait"
        case .fail(let failure): "fail \(failure.code.rawValue)"
        }
    }

    private static func before(
        _ rules: ExistingFiles,
        _ existing: ExistingFile?,
        _ partial: PartialState = .none
    ) -> String {
        self.word(rules.step(FileSurvey(existing: existing, partial: partial), self.target))
    }

    private static func after(
        _ rules: ExistingFiles,
        _ existing: ExistingFile?,
        _ partial: PartialState = .none,
        current: Bool = false,
        newer: Bool = false
    ) -> String {
        let freshness: VersionJudge.Freshness = current ? .current : newer ? .newer : .different
        return self.word(rules.step(FileSurvey(existing: existing, partial: partial), self.target) { _ in freshness })
    }

    private static func running(_ url: String = Self.url) -> PartialState { .busy(ResourceFacts(url: url)) }

    // MARK: A file that another process is downloading

    @Test(
        "by default it is awaited, but rename and fail apply to it as to an existing file",
        arguments: [
            (IfExistsRule.auto, "wait"), (.skip, "wait"), (.resume, "wait"), (.overwrite, "wait"),
            (.update, "wait"), (.rename, "requested name"), (.fail, "fail in-use"),
        ]
    )
    func running(rule: IfExistsRule, step: String) {
        #expect(Self.before(Self.rules(rule), nil, Self.running()) == step)
        #expect(Self.before(Self.rules(rule), Self.file(), Self.running()) == step)
        #expect(Self.after(Self.rules(rule), nil, Self.running()) == step)
        // The same path with another signature is the same file.
        #expect(Self.before(Self.rules(rule), nil, Self.running("http://a/f?key=2")) == step)
    }

    @Test("its own rule comes first", arguments: IfExistsRule.allCases)
    func runningRule(rule: IfExistsRule) {
        for (running, step) in [(IfRunningRule.wait, "wait"), (.rename, "requested name"), (.fail, "fail in-use")] {
            #expect(Self.before(Self.rules(rule, running: running), nil, Self.running()) == step)
        }
    }

    @Test("a download of another URL only takes the name, unless the user gave it", arguments: IfExistsRule.allCases)
    func runningOther(rule: IfExistsRule) {
        let other = Self.running("http://b/g")
        #expect(Self.before(Self.rules(rule, running: .wait), nil, other) == "next name")
        #expect(Self.before(Self.rules(rule, running: .wait), nil, .busy(nil)) == "next name")
        #expect(Self.before(Self.rules(rule, named: true, running: .wait), nil, other) == "wait")
        #expect(Self.before(Self.rules(rule, exact: true, running: .fail), nil, other) == "fail in-use")
    }

    // MARK: Before the first request

    @Test("a free name is fetched by every rule", arguments: IfExistsRule.allCases)
    func free(rule: IfExistsRule) {
        #expect(Self.before(Self.rules(rule), nil) == "fetch")
        #expect(Self.before(Self.rules(rule, exact: true), nil) == "fetch")
    }

    @Test("a file with aria2's control file is unfinished: it is neither skipped nor continued")
    func controlFile() {
        var file = Self.file()
        file.hasControlFile = true
        #expect(Self.before(Self.rules(.auto), file) == "next name")
        #expect(Self.before(Self.rules(.resume), file) == "next name")
        #expect(Self.before(Self.rules(.resume, digests: true), file) == "next name")
        #expect(Self.before(Self.rules(.overwrite), file) == "fetch over")
        #expect(Self.before(Self.rules(.fail), file) == "fail file-exists")
        #expect(Self.after(Self.rules(.auto), file, current: true) == "next name")
    }

    @Test("an unknown partial file takes the name, by every rule", arguments: IfExistsRule.allCases)
    func taken(rule: IfExistsRule) {
        #expect(Self.before(Self.rules(rule), Self.file(), .foreign("no journal")) == "next name")
    }

    @Test("a partial file that does not belong to its journal needs a digest", arguments: IfExistsRule.allCases)
    func unpaired(rule: IfExistsRule) {
        let unpaired = PartialState.unpaired(ResourceFacts(url: Self.url), reason: "other number")
        #expect(Self.before(Self.rules(rule), nil, unpaired) == "next name")
        #expect(Self.before(Self.rules(rule, named: true), nil, unpaired) == "next name")
        #expect(Self.before(Self.rules(rule, digests: true), nil, unpaired) == "resume unpaired")
        #expect(Self.before(Self.rules(rule, whole: false, digests: true), nil, unpaired) == "next name")
        #expect(Self.before(Self.rules(rule, digests: true), Self.file(), unpaired) == "next name")
        #expect(Self.after(Self.rules(rule, digests: true), nil, unpaired) == "next name")
    }

    @Test("the name of another file's partial file is an error if the user gave it", arguments: IfExistsRule.allCases)
    func owned(rule: IfExistsRule) {
        let survey = FileSurvey(existing: Self.file(), partial: .none, owner: "f")
        #expect(Self.word(Self.rules(rule).step(survey, Self.target)) == "next name")
        #expect(Self.word(Self.rules(rule, named: true).step(survey, Self.target)).hasPrefix("fail"))
    }

    @Test("an interrupted commit is completed, by every rule", arguments: IfExistsRule.allCases)
    func replayed(rule: IfExistsRule) {
        #expect(Self.before(Self.rules(rule), Self.file(), .committed) == "replayed")
        #expect(Self.before(Self.rules(rule), nil, .committed) == "replayed")
    }

    @Test("our partial file is resumed by every rule, if no file has the name", arguments: IfExistsRule.allCases)
    func resumed(rule: IfExistsRule) {
        #expect(Self.before(Self.rules(rule), nil, Self.ours()) == "resume")
    }

    @Test("a partial file of another URL: another query or a given name allow to continue it")
    func foreign() {
        #expect(Self.before(Self.rules(.auto), nil, Self.ours("http://a/f?key=2")) == "resume foreign")
        #expect(Self.before(Self.rules(.auto), nil, Self.ours("http://b/f")) == "next name")
        #expect(Self.before(Self.rules(.auto, named: true), nil, Self.ours("http://b/f")) == "resume foreign")
        #expect(Self.before(Self.rules(.auto, exact: true), nil, Self.ours("http://b/f")) == "resume foreign")
    }

    @Test("the response to a POST, or to an own range, is requested again; another URL's file is left alone")
    func notWhole() {
        let rules = Self.rules(.auto, whole: false)
        #expect(Self.before(rules, nil, Self.ours()) == "fetch")
        #expect(Self.before(rules, nil, Self.ours("http://a/f?key=2")) == "next name")
        #expect(Self.before(rules, Self.file()) == "next name")
        #expect(Self.before(Self.rules(.resume, whole: false), Self.file()) == "next name")
        #expect(Self.before(Self.rules(.overwrite, whole: false), Self.file(), Self.ours()) == "fetch over")
    }

    @Test("a file that has the transfer's mark is its own, by every rule", arguments: IfExistsRule.allCases)
    func marked(rule: IfExistsRule) {
        let rules = Self.rules(rule, mark: "7")
        #expect(Self.before(rules, Self.file(mark: "7")) == "skip")
        #expect(Self.before(rules, Self.file(mark: "8")) == Self.before(rules, Self.file()))
    }

    @Test(
        "an existing file",
        arguments: [
            (IfExistsRule.auto, "examine"), (.skip, "skip"), (.resume, "continue over"), (.rename, "next name"),
            (.overwrite, "fetch over"), (.fail, "fail file-exists"), (.update, "revalidate"),
        ]
    )
    func existing(rule: IfExistsRule, step: String) {
        #expect(Self.before(Self.rules(rule), Self.file()) == step)
        #expect(Self.before(Self.rules(rule, exact: true), Self.file()) == step)
    }

    @Test(
        "an existing directory or device",
        arguments: [
            (IfExistsRule.auto, "next name"), (.skip, "skip"), (.resume, "next name"), (.rename, "next name"),
            (.overwrite, "fail file-exists"), (.fail, "fail file-exists"), (.update, "fail file-exists"),
        ]
    )
    func notRegular(rule: IfExistsRule, step: String) {
        #expect(Self.before(Self.rules(rule), Self.file(regular: false)) == step)
        let exact = step == "next name" && rule != .rename ? "fail file-exists" : step
        #expect(Self.before(Self.rules(rule, exact: true), Self.file(regular: false)) == exact)
    }

    @Test("an existing file is compared by digest, if one is known")
    func digests() {
        #expect(Self.before(Self.rules(.auto, digests: true), Self.file()) == "digests")
        #expect(Self.before(Self.rules(.resume, digests: true), Self.file()) == "digests over")
    }

    @Test(
        "an existing file with our partial file",
        arguments: [
            (IfExistsRule.auto, "examine"), (.skip, "skip"), (.resume, "resume"), (.rename, "next name"),
            (.overwrite, "resume over"), (.fail, "fail file-exists"), (.update, "resume over"),
        ]
    )
    func both(rule: IfExistsRule, step: String) {
        #expect(Self.before(Self.rules(rule), Self.file(), Self.ours()) == step)
    }

    @Test("resume: only the file whose copy the partial file continues is overwritten; an empty one is fetched")
    func continued() {
        let rules = Self.rules(.resume)
        #expect(Self.before(rules, Self.file(), Self.ours(continuing: Self.file())) == "resume over")
        // Another file has taken the name since, or another version has replaced the copy.
        #expect(Self.before(rules, Self.file(11), Self.ours(continuing: Self.file())) == "resume")
        #expect(Self.before(rules, Self.file(), Self.ours()) == "resume")
        #expect(Self.before(rules, Self.file(0)) == "fetch over")
        #expect(Self.before(rules, Self.file(), Self.ours(Self.url, 0)) == "continue over")
    }

    // MARK: After the response has determined the name

    @Test(
        "a name that the response proposes",
        arguments: [
            (IfExistsRule.auto, "next name"), (.skip, "skip"), (.resume, "next name"), (.rename, "next name"),
            (.overwrite, "fetch over"), (.fail, "fail file-exists"), (.update, "fetch over"),
        ]
    )
    func proposed(rule: IfExistsRule, step: String) {
        #expect(Self.after(Self.rules(rule), Self.file()) == step)
        #expect(Self.after(Self.rules(rule), nil) == "fetch")
        #expect(Self.after(Self.rules(rule), nil, Self.running("http://b/g")) == "next name")
        #expect(Self.after(Self.rules(rule), nil, .foreign("")) == "next name")
        #expect(Self.after(Self.rules(rule), nil, .committed) == "fetch")
    }

    @Test("a proposed name: only auto skips what the response carries; nothing but a regular file is replaced")
    func proposedCurrent() {
        #expect(Self.after(Self.rules(.auto), Self.file(), current: true) == "skip")
        #expect(Self.after(Self.rules(.rename), Self.file(), current: true) == "next name")
        #expect(Self.after(Self.rules(.auto), Self.file(regular: false), current: true) == "next name")
        #expect(Self.after(Self.rules(.overwrite), Self.file(regular: false)) == "next name")
        #expect(Self.after(Self.rules(.update), Self.file(), current: true) == "skip")
        #expect(Self.after(Self.rules(.update), Self.file(), newer: true) == "skip")
        #expect(Self.after(Self.rules(.update), Self.file(regular: false), current: true) == "next name")
    }

    @Test("a proposed name: our partial file is resumed, if it has bytes and is of this URL")
    func proposedPartial() {
        #expect(Self.after(Self.rules(.auto), nil, Self.ours()) == "resume")
        #expect(Self.after(Self.rules(.auto), nil, Self.ours(Self.url, 0)) == "fetch")
        #expect(Self.after(Self.rules(.auto), nil, Self.ours("http://a/f?key=2")) == "fetch")
        #expect(Self.after(Self.rules(.skip), Self.file(), Self.ours()) == "skip")
    }

    // MARK: At the commit

    @Test(
        "a name that was taken since the survey",
        arguments: [
            (IfExistsRule.auto, "compare", "compare"), (.skip, "nextName", "fail"), (.resume, "nextName", "fail"),
            (.rename, "nextName", "fail"), (.overwrite, "nextName", "overwrite"), (.fail, "fail", "fail"),
            (.update, "compare", "compare"),
        ]
    )
    func collision(rule: IfExistsRule, free: String, exact: String) {
        #expect("\(Self.rules(rule).collision(overwrites: false))" == free)
        #expect("\(Self.rules(rule, exact: true).collision(overwrites: false))" == exact)
        // What has replaced the file that was to be replaced is compared, too.
        let again = rule == .auto || rule == .update ? "compare" : "fail"
        #expect("\(Self.rules(rule, exact: true).collision(overwrites: true))" == again)
    }

    // MARK: Names that must be exact, and updates

    @Test("a wrong digest: an exact name keeps its file, unless the record says that it is an unchanged one of ours")
    func wrongDigest() {
        func word(_ rules: ExistingFiles, _ existing: ExistingFile) -> String {
            switch rules.wrongDigest(of: existing, Self.target) {
            case .nextName: "next name"
            case .replace: "replace"
            case .fail(let failure): "fail \(failure.code.rawValue)"
            }
        }
        var ours = Self.file()
        ours.recorded = RecordedVersion(entityTag: "\"a\"")
        #expect(word(Self.rules(.auto, digests: true), ours) == "next name")
        #expect(word(Self.rules(.auto, exact: true, digests: true), Self.file()) == "fail file-exists")
        #expect(word(Self.rules(.auto, exact: true, digests: true), ours) == "replace")
        #expect(word(Self.rules(.update, digests: true), Self.file()) == "replace")
    }

    @Test("a file that is not known to be the server's: only a name that was chosen for the user gets a number")
    func unknownVersion() {
        func word(_ rules: ExistingFiles) -> String {
            switch rules.unknownVersion(Self.target) {
            case .nextName: "next name"
            case .replace: "replace"
            case .fail(let failure): "fail \(failure.message) (\(failure.remedy))"
            }
        }
        #expect(word(Self.rules(.auto)) == "next name")
        #expect(
            word(Self.rules(.auto, exact: true))
                == "fail f exists, and it is not known to be the server's file (choose another name)"
        )
        #expect(word(Self.rules(.update, exact: true)) == "replace")
    }

    @Test(
        "a file that was found wrong is replaced as long as it is the same one",
        arguments: [IfExistsRule.auto, .update]
    )
    func replaceable(rule: IfExistsRule) {
        let rules = Self.rules(rule, exact: true, digests: true, replaceable: Self.file().file)
        #expect(Self.before(rules, Self.file()) == "fetch over")
        #expect(Self.before(rules, Self.file(), Self.ours()) == "resume over")
        #expect(Self.before(rules, Self.file(11)).hasPrefix("digests"))
        #expect(Self.before(rules, Self.file(regular: false)) == "fail file-exists")
    }

    @Test("an update compares by digest, if one is known, and never gives a number")
    func updates() {
        #expect(Self.before(Self.rules(.update, digests: true), Self.file()) == "digests over")
        #expect(Self.before(Self.rules(.update, whole: false), Self.file()) == "fail file-exists")
        #expect(Self.rules(.update).nameIsNotFree(Self.target, "")?.code == .fileExists)
    }

    @Test("an exact name that is taken is a failure")
    func exact() {
        #expect(Self.rules(.auto).nameIsNotFree(Self.target, "busy") == nil)
        #expect(Self.rules(.auto, exact: true).nameIsNotFree(Self.target, "busy")?.code == .fileExists)
    }
}
