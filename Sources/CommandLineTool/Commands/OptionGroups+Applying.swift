// SPDX-License-Identifier: Apache-2.0
import TransferCore
import TransferEngine

/// Applies the options to a plan.
extension RequestOptions {
    /// Sets how certificates are verified.
    ///
    /// - Throws: ``BadValue`` if options cannot be used together.
    func trust(in plan: inout GetPlan) throws(BadValue) {
        plan.caFile = self.cacert
        plan.verifiesCertificates = !self.insecure
        guard plan.caFile == nil || plan.verifiesCertificates else {
            throw BadValue("--cacert and --insecure cannot be used together; leave one out")
        }
        guard self.pin.isEmpty || plan.verifiesCertificates else {
            throw BadValue("--pin and --insecure cannot be used together; leave one out")
        }
        do throws(TLSOptions.PinError) {
            plan.pins = []
            for text in self.pin {
                let pins = try TLSOptions.Pin.list(text)
                plan.pins += pins.isEmpty ? [try TLSOptions.Pin(text)] : pins
            }
        } catch {
            throw BadValue("--pin: \(error.message)")
        }
    }

    /// The proxies, or `nil` to use the environment.
    func proxySettings() throws(BadValue) -> ProxySettings? {
        guard let text = self.proxy else { return nil }
        if text == "none" { return ProxySettings.none }
        do {
            return ProxySettings(try ProxyServer(text, from: "--proxy"))
        } catch {
            throw BadValue(error.message)
        }
    }

    /// The header fields of every request; a dedicated option replaces the same field given with `--header`.
    ///
    /// - Parameter agent: The default User-Agent field.
    /// - Returns: The names and values, in order.
    /// - Throws: ``BadValue`` if a value is not valid.
    func fields(agent: String = "martlet/\(MartletVersion.text)") throws(BadValue) -> [(String, String)] {
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
            fields.append(("User-Agent", agent))
        }
        return fields
    }
}

extension FailureOptions {
    /// Sets the options for retries and timeouts.
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
    /// Sets the options for output.
    ///
    /// - Throws: ``BadValue`` if options cannot be used together.
    func apply(to plan: inout GetPlan) throws(BadValue) {
        guard !(self.quiet && self.verbose) else {
            throw BadValue("--quiet and --verbose cannot be used together; leave one out")
        }
        plan.display = self.json ? .json : self.quiet ? .quiet : .text
        plan.verbose = self.verbose
        plan.drawsProgress = !self.noProgress
    }
}
