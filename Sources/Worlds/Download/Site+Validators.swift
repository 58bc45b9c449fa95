// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferTesting

/// The validators of a site's responses, and their record for the judge.
extension Site {
    struct SentValidators {
        var fields: HeaderFields
        var tag: String?
        var modified: Int64?
        var date: Int64?
    }

    /// Whether the site's responses show that a finished file is its own.
    ///
    /// - Parameter hasRecord: Whether the file has the record of its version; otherwise only length and time can be compared.
    /// - Returns: Whether they do.
    func showsVersion(hasRecord: Bool) -> Bool {
        if hasRecord, self.tag == .version { return true }
        return !self.hidesLength && self.date != .none
    }

    func validators(
        _ request: ServerRequest,
        _ node: Int,
        _ version: Int,
        _ status: Int,
        _ generator: inout SeededGenerator
    ) -> SentValidators {
        var mode = self.tag
        switch mode {
        case .flicker: mode = [.version, .version, .none, .weak, .unquoted].randomElement(using: &generator) ?? .none
        case .onlyWhole: mode = status == 200 ? .version : .none
        case .onlyParts: mode = status == 206 ? .version : .none
        case .firstLater:
            mode = status == 200 || self.rangesSent > 0 ? .firstLater : .none
            if status == 206 { self.rangesSent += 1 }
        default: break
        }
        let strong = "\"v-\(version)\""
        let tag: String? =
            switch mode {
            case .version: strong
            case .firstWhole: status == 200 ? "\"v-0\"" : nil
            case .firstLater: "\"v-0\""
            case .node: "\"n\(node)-\(version)\""
            case .each: "\"r\(request.number)-\(version)\""
            case .weak: "W/\(strong)"
            case .weakSame: "W/\"same\""
            case .unquoted: "v-\(version)"
            case .unquotedSame: "same"
            case .same: "\"1\""
            case .none, .flicker, .onlyWhole, .onlyParts: nil
            }
        var dateMode = self.date
        switch dateMode {
        case .flicker: dateMode = [.old, .old, .none].randomElement(using: &generator) ?? .none
        case .onlyWhole: dateMode = status == 200 ? .old : .none
        case .onlyParts: dateMode = status == 206 ? .old : .none
        case .firstWhole: dateMode = status == 200 ? .same : .none
        default: break
        }
        let (epoch, now) = (Scheduler.epoch, self.wallNow)
        var date = now
        if dateMode == .youngSame || dateMode == .youngLate {
            let isLast = version == self.contents.count - 1 && self.contents.count > 1
            date = epoch + (dateMode == .youngLate && isLast ? 5 : 0)
        }
        let modified: Int64? =
            switch dateMode {
            case .old: 1_750_000_000 + 86_400 * Int64(version)
            case .same: 1_750_000_000
            case .nodeOld: 1_750_000_000 + 86_400 * Int64(version) + 1000 * Int64(node) + 7
            case .each: now - 3600 - Int64.random(in: 0..<80_000, using: &generator)
            case .young: epoch
            case .youngSame, .youngLate: epoch
            case .futureSame: epoch + 86_400
            case .none, .flicker, .onlyWhole, .onlyParts, .firstWhole: nil
            }
        var fields = HeaderFields()
        if self.sendsDate { fields.append("Date", HTTPDate.format(date)) }
        if let tag { fields.append("ETag", tag) }
        if let modified { fields.append("Last-Modified", HTTPDate.format(modified)) }
        let hasDigest =
            switch self.digests {
            case 0: false
            case 1: true
            case 2: status == 200
            default: Bool.random(using: &generator)
            }
        if hasDigest {
            fields.append("Repr-Digest", self.digest(of: version))
            self.didSendDigest = true
        }
        return SentValidators(fields: fields, tag: tag, modified: modified, date: self.sendsDate ? date : nil)
    }

    func digest(of version: Int) -> String {
        if let text = self.digestTexts[version] { return text }
        let text = "sha-256=:\(Base64.encode(self.contents[version].sha256)):"
        self.digestTexts[version] = text
        return text
    }

    func show(_ request: ServerRequest, _ version: Int, _ sent: SentValidators, _ total: Int64?) {
        self.shown.append(
            Shown(
                version: version,
                // A redirector's nodes are one resource; mirrors are several.
                url: self.kind == .mirrors ? request.url.host : "",
                tag: sent.tag,
                modified: sent.modified,
                isOld: Shown.isStrongDate(sent.modified, sent.date),
                total: total
            )
        )
    }

    /// Whether responses with different bytes were of one version by their validators.
    var isLiar: Bool {
        let shown = Set(self.shown)
        for left in shown {
            for right in shown where left.version != right.version && left.isOneVersion(with: right) {
                return true
            }
        }
        return false
    }

    /// Whether a condition shows that the client has this version: the entity tag, else the time.
    ///
    /// - Source: RFC 9110 §13.2.2.
    func isUnchanged(_ request: ServerRequest, _ sent: SentValidators) -> Bool {
        if let condition = request.fields["If-None-Match"] {
            return Shown.opaque(sent.tag) != nil && Shown.opaque(condition) == Shown.opaque(sent.tag)
        }
        guard let condition = request.fields["If-Modified-Since"].flatMap({ HTTPDate.parse($0) }),
            let modified = sent.modified
        else { return false }
        return modified <= condition
    }

    /// Whether `If-Range` permits a range.
    func permitsRange(_ request: ServerRequest, _ sent: SentValidators) -> Bool {
        guard let condition = request.fields["If-Range"], self.ifRange != 1 else { return true }
        if self.ifRange == 2 { return false }
        if condition.hasPrefix("\"") || condition.hasPrefix("W/") {
            return Shown.isStrong(sent.tag) && condition == sent.tag
        }
        guard let seconds = HTTPDate.parse(condition) else { return false }
        return seconds == sent.modified && Shown.isStrongDate(sent.modified, sent.date, now: self.wallNow)
    }
}
