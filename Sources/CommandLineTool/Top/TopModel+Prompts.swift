// SPDX-License-Identifier: Apache-2.0
import TransferCore
import Control

/// Questions, and texts that are entered.
extension TopModel {
    private static let textKeys = "enter: set   esc: cancel"

    /// Handles a key while there is a question.
    mutating func pressedInPrompt(_ key: TopKey) {
        guard var prompt = self.prompt else { return }
        if key == .escape {
            self.prompt = nil
            return
        }
        if var editor = prompt.editor {
            if key == .enter { return self.submit(editor.text, prompt) }
            _ = editor.take(key)
            prompt.editor = editor
            self.prompt = prompt
            return
        }
        switch key {
        case .character("n"), .character("N"), .character("q"): self.prompt = nil
        case .character("y"), .character("Y"): self.confirm(prompt, deletesPartial: false)
        case .character("x"), .character("X"): self.confirm(prompt, deletesPartial: true)
        default: break
        }
    }

    /// Says that the daemon lacks a feature.
    mutating func sayTooOld(_ feature: String) {
        self.say(
            "the daemon's version cannot \(feature); stop it (martlet stop) and start it again from this version",
            isError: true
        )
    }

    // MARK: Asking

    mutating func promptForSearch() {
        guard self.features.canSearch else { return self.sayTooOld("search") }
        self.ask(.search, "only with this text: ", self.query.search, "enter: apply (empty: all)   esc: cancel")
    }

    /// Asks for a new URL of the transfer whose details are shown, or of the selected one.
    mutating func promptForURL() {
        var record = self.window.current
        if case .details(let details) = self.mode { record = details.record }
        guard let record else { return self.say("no transfer is selected", isError: true) }
        guard record.state != .finished else { return self.say("the transfer is finished", isError: true) }
        self.ask(
            .url(record.id, others: Array(record.urls.dropFirst()), retries: record.state.isEnd),
            "new URL: ",
            record.urls.first ?? "",
            "enter: set" + (record.state.isEnd ? " and retry" : "") + "   ctrl-u: clear   esc: cancel; its data is kept"
        )
    }

    mutating func promptForLimit(_ row: TopLimitsPage.Row) {
        switch row {
        case .rate(let rate): self.ask(.rate, "total rate per second (such as 2M; 0: no limit): ", Self.size(rate))
        case .concurrent(let number): self.ask(.concurrent, "concurrent transfers: ", "\(number)")
        case .host(let host): self.ask(.host, "HOST=CONNECTIONS (0: no limit): ", "\(host.name)=\(host.connections)")
        case .newHost: self.ask(.host, "HOST=CONNECTIONS (0: no limit): ", "")
        case .transfers(let targets):
            let which = targets.count == 1 ? "of this transfer" : "of each of \(TopText.count(targets.count))"
            self.ask(.transferRate(targets.map(\.id)), "rate \(which) per second (0: no limit): ", "")
        case .schedule: self.say("change the hours with martlet limit --schedule HH:MM-HH:MM, or none")
        }
    }

    /// Asks whether to remove the targets; those that have ended are removed from the history.
    mutating func promptToRemove(_ targets: [TopMarks.Target]) {
        let (open, ended) = (targets.filter { !$0.state.isEnd }, targets.filter { $0.state.isEnd })
        guard let first = targets.first else { return self.say("no transfer is selected", isError: true) }
        let which = targets.count == 1 ? first.name : TopText.count(targets.count)
        if open.isEmpty {
            self.ask(.remove([], ended: ended.map(\.id)), "remove \(which) from the history?", nil, Self.keys(.forget))
        } else {
            self.ask(.remove(open.map(\.id), ended: ended.map(\.id)), "remove \(which)?", nil, Self.keys(.remove))
        }
    }

    /// Asks whether to remove all, or to clear the history if a tab of it is shown.
    mutating func promptToRemoveAll() {
        if self.query.tab == .failed || self.query.tab == .ended {
            let number = TopTab.failed.count(self.counts) + TopTab.ended.count(self.counts)
            self.ask(.forgetAll, "remove all \(number) that have ended from the history?", nil, Self.keys(.forget))
        } else {
            let number =
                TopTab.active.count(self.counts) + TopTab.waiting.count(self.counts) + TopTab.paused.count(self.counts)
            self.ask(.removeAll, "remove all \(TopText.count(number)) that have not ended?", nil, Self.keys(.remove))
        }
    }

    private enum Removal { case remove, forget }

    private static func keys(_ removal: Removal) -> String {
        switch removal {
        case .remove: "y: yes, keep partial data   x: yes, delete partial data   n: no"
        case .forget: "y: yes; files are kept   n: no"
        }
    }

    private mutating func ask(
        _ purpose: TopPrompt.Purpose,
        _ label: String,
        _ text: String?,
        _ note: String = Self.textKeys
    ) {
        self.message = nil
        self.prompt = TopPrompt(purpose: purpose, label: label, editor: text.map { TopEditor($0) }, note: note)
    }

    /// A rate as it would be entered.
    private static func size(_ rate: Int64) -> String {
        for (shift, suffix) in [(Int64(30), "G"), (20, "M"), (10, "K")]
        where rate > 0 && rate & ((1 << shift) - 1) == 0 {
            return "\(rate >> shift)\(suffix)"
        }
        return "\(rate)"
    }

    // MARK: Answers

    private mutating func confirm(_ prompt: TopPrompt, deletesPartial: Bool) {
        self.prompt = nil
        switch prompt.purpose {
        case .remove(let open, let ended):
            // `x` is not an answer to the question about the history.
            guard !open.isEmpty || !deletesPartial else {
                self.prompt = prompt
                return
            }
            self.call(
                (open.isEmpty ? [] : [.remove(.ids(open), deletesPartial: deletesPartial)])
                    + (ended.isEmpty ? [] : [.forget(.ids(ended))])
            )
            self.marks.clear()
        case .removeAll:
            self.call([.remove(.all, deletesPartial: deletesPartial)])
            self.marks.clear()
        case .forgetAll:
            guard !deletesPartial else {
                self.prompt = prompt
                return
            }
            self.call([.forget(.all)])
            self.marks.clear()
        case .search, .url, .rate, .concurrent, .host, .transferRate: break
        }
    }

    private mutating func submit(_ text: String, _ prompt: TopPrompt) {
        do throws(SyntaxError) {
            try self.apply(text, prompt.purpose)
            self.prompt = nil
        } catch {
            var prompt = prompt
            (prompt.note, prompt.isError) = (error.description, true)
            self.prompt = prompt
        }
    }

    private mutating func apply(_ text: String, _ purpose: TopPrompt.Purpose) throws(SyntaxError) {
        let word = String(text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
        switch purpose {
        case .search:
            var query = self.query
            query.search = word
            self.show(query)
        case .url(let id, let others, let retries):
            guard word.contains("://") else { throw SyntaxError("this is not a URL; write http://… or https://…") }
            self.call([.replaceURLs(id, [word] + others, retries: retries)])
        case .rate: self.call([.limitRate(try OptionSyntax.size.parsed(word))])
        case .concurrent: self.call([.limitConcurrent(try OptionSyntax.number(1...10_000).parsed(word))])
        case .host:
            let (host, number) = try LimitCommand.hostLimit(word)
            self.call([.limitHost(host, number)])
        case .transferRate(let ids): self.call([.limitTransfers(ids, try OptionSyntax.size.parsed(word))])
        case .remove, .removeAll, .forgetAll: break
        }
    }
}
