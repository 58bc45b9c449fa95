import TransferCore
import TransferEngine

/// What the options of requests come to.
extension RequestOptions {
    /// Whom the run trusts.
    ///
    /// - Throws: ``BadValue`` where two options contradict each other.
    func trust(in plan: inout GetPlan) throws(BadValue) {
        plan.caFile = self.cacert
        plan.verifiesCertificates = !self.insecure
        guard plan.caFile == nil || plan.verifiesCertificates else {
            throw BadValue("--cacert and --insecure contradict each other; leave one out")
        }
    }

    /// The proxy, or `nil` for that of the environment.
    func proxySettings() throws(BadValue) -> ProxySettings? {
        guard let text = self.proxy else { return nil }
        if text == "none" { return ProxySettings.none }
        do {
            return ProxySettings(try ProxyServer(text, from: "--proxy"))
        } catch {
            throw BadValue(error.message)
        }
    }

    /// The fields of every request; one that is given by its own option replaces the same one among `--header`.
    func fields() throws(BadValue) -> [(String, String)] {
        var fields = self.header.map { ($0.name, $0.value) }
        for (name, value) in [
            ("Referer", self.referer), ("User-Agent", self.userAgent),
            ("Cookie", self.cookie),
        ] {
            guard let value else { continue }
            fields.removeAll { $0.0.lowercased() == name.lowercased() }
            fields.append((name, try HeaderField.value(value, of: name)))
        }
        if !fields.contains(where: { $0.0.lowercased() == "user-agent" }) {
            fields.append(("User-Agent", "martlet/\(MartletVersion.text)"))
        }
        return fields
    }
}

extension FailureOptions {
    /// Sets what is said about failures and times.
    func apply(to options: inout DownloadOptions) {
        options.retries = self.retries
        let allowed = self.outageTimeout ?? Self.defaultOutageTimeout
        options.outageTimeout = allowed == .zero ? nil : allowed
        if !self.retryStatus.isEmpty { options.retryStatuses = Set(self.retryStatus) }
        if let timeout = self.connectTimeout { options.connectTimeout = timeout }
        if let timeout = self.stallTimeout { options.stallTimeout = timeout }
        if let timeout = self.maxTime { options.totalTimeout = timeout }
    }
}

extension DisplayOptions {
    /// Sets how the run is shown.
    ///
    /// - Throws: ``BadValue`` where two options contradict each other.
    func apply(to plan: inout GetPlan) throws(BadValue) {
        guard !(self.quiet && self.verbose) else {
            throw BadValue("--quiet and --verbose contradict each other; leave one out")
        }
        plan.display = self.json ? .json : self.quiet ? .quiet : .text
        plan.verbose = self.verbose
        plan.drawsProgress = !self.noProgress
    }
}
