// SPDX-License-Identifier: Apache-2.0
import Control

extension TopModel {
    /// Handles a key.
    mutating func pressed(_ key: TopKey) {
        if key == .control("l") { return self.perform(.repaint) }
        if self.prompt != nil { return self.pressedInPrompt(key) }
        // A text that is pasted by mistake must not be a series of commands.
        if case .paste = key { return }
        if self.message?.isError == true { self.message = nil }
        switch self.mode {
        case .list: self.pressedInList(key)
        case .details(let details): self.pressed(key, in: details)
        case .limits(let page): self.pressed(key, in: page)
        case .help(let scroll): self.pressed(key, inHelp: scroll)
        }
    }

    private mutating func pressedInList(_ key: TopKey) {
        if self.movesCursor(key) { return }
        switch key {
        case .character("q"): self.quit()
        case .enter:
            if let record = self.window.current { self.mode = .details(TopDetails(id: record.id, record: record)) }
        case .character("l"): self.mode = .limits(TopLimitsPage(targets: self.targets))
        case .character("?"): self.mode = .help(scroll: 0)
        case .escape: self.escaped()
        case .character(" "):
            if let record = self.window.current { self.marks.toggle(record) }
            self.window.move(by: 1)
        case .character("a"): for record in self.window.visible { self.marks.add(record) }
        case .tab, .right: self.show(tab: self.query.tab.next(1))
        case .backTab, .left: self.show(tab: self.query.tab.next(-1))
        case .character("/"): self.promptForSearch()
        case .character("s"): self.sort()
        case .character("P"): self.call([.pause(.all)])
        case .character("R"): self.call([.resume(.all)])
        case .character("T"): self.call([.retry(.all)])
        case .character("D"): self.promptToRemoveAll()
        case .character("+"), .character("="), .character("K"), .shiftUp: self.reorder(by: -1)
        case .character("-"), .character("J"), .shiftDown: self.reorder(by: 1)
        case .character("<"): self.reorder(to: .first)
        case .character(">"): self.reorder(to: .last)
        case .character(let character):
            if let tab = character.wholeNumberValue.flatMap({ TopTab(rawValue: $0) }) { return self.show(tab: tab) }
            self.change(key, self.targets)
        default: self.change(key, self.targets)
        }
    }

    private mutating func movesCursor(_ key: TopKey) -> Bool {
        switch key {
        case .up, .character("k"), .control("p"): self.window.move(by: -1)
        case .down, .character("j"), .control("n"): self.window.move(by: 1)
        case .pageUp, .control("b"): self.window.turn(pages: -1)
        case .pageDown, .control("f"): self.window.turn(pages: 1)
        case .home, .character("g"): self.window.move(by: .min)
        case .end, .character("G"): self.window.move(by: .max)
        default: return false
        }
        return true
    }

    /// The commands that apply to single transfers, in the list and in the details.
    private mutating func change(_ key: TopKey, _ targets: [TopMarks.Target]) {
        switch key {
        case .character("p"): self.pause(targets)
        case .character("r"): self.resume(targets)
        case .character("t"): self.retry(targets)
        case .character("d"), .delete: self.promptToRemove(targets)
        case .character("u"): self.promptForURL()
        default: break
        }
    }

    /// The marked transfers, or the selected one.
    var targets: [TopMarks.Target] {
        if self.marks.count > 0 { return self.marks.targets }
        return self.window.current.map { [TopMarks.Target($0)] } ?? []
    }

    private mutating func escaped() {
        if self.marks.count > 0 { return self.marks.clear() }
        var query = self.query
        query.search = ""
        self.show(query)
        self.message = nil
    }

    private mutating func show(tab: TopTab) {
        var query = self.query
        query.tab = tab
        self.show(query)
    }

    private mutating func sort() {
        guard self.features.canSort else { return self.sayTooOld("sort") }
        var query = self.query
        query.order = query.order.next
        self.show(query)
        self.say(query.order.text)
    }

    // MARK: Other pages

    private mutating func pressed(_ key: TopKey, in details: TopDetails) {
        var details = details
        switch key {
        case .character("q"), .escape, .left, .enter, .backspace: self.mode = .list
        case .character("?"): self.mode = .help(scroll: 0)
        default:
            guard let step = self.scrolling(key) else { return self.change(key, [TopMarks.Target(details.record)]) }
            details.scroll = (details.scroll + step).clamped(to: 0...Self.longestScroll)
            self.mode = .details(details)
            self.settleScroll()
        }
    }

    private mutating func pressed(_ key: TopKey, inHelp scroll: Int) {
        switch key {
        case .character("q"), .character("?"), .escape, .left, .enter, .backspace: self.mode = .list
        default:
            guard let step = self.scrolling(key) else { return }
            self.mode = .help(scroll: (scroll + step).clamped(to: 0...Self.longestScroll))
            self.settleScroll()
        }
    }

    private mutating func pressed(_ key: TopKey, in page: TopLimitsPage) {
        var page = page
        switch key {
        case .character("q"), .escape, .left, .backspace: self.mode = .list
        case .enter, .right, .character(" "): if let row = page.current { self.promptForLimit(row) }
        default:
            guard let step = self.scrolling(key) else { return }
            page.cursor = (page.cursor + step).clamped(to: 0...max(0, page.rows.count - 1))
            self.mode = .limits(page)
        }
    }

    private static let longestScroll = 1 << 20

    /// The number of lines that a key scrolls, or `nil` for other keys.
    private func scrolling(_ key: TopKey) -> Int? {
        switch key {
        case .up, .character("k"): -1
        case .down, .character("j"): 1
        case .pageUp: -max(1, self.layout.page - 1)
        case .pageDown, .character(" "): max(1, self.layout.page - 1)
        case .home, .character("g"): -Self.longestScroll
        case .end, .character("G"): Self.longestScroll
        default: nil
        }
    }
}
