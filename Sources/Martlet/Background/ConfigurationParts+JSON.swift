// SPDX-License-Identifier: Apache-2.0
internal import TransferCore
internal import Control
internal import HTTPTransport

internal import Platform

extension SessionConfiguration.CookieAcceptance {
    var name: String {
        switch self {
        case .always: "always"
        case .onlyFromFirstHost: "onlyFromFirstHost"
        case .never: "never"
        }
    }

    init?(name: String) {
        guard let found = [Self.always, .onlyFromFirstHost, .never].first(where: { $0.name == name }) else {
            return nil
        }
        self = found
    }
}

extension Cookie {
    var json: JSON {
        [
            "name": .string(self.name), "value": .string(self.value),
            "domain": .string(self.isHostOnly ? self.domain : "." + self.domain), "path": .string(self.path),
            "expires": .optional(self.expires), "secure": .bool(self.isSecure), "httpOnly": .bool(self.isHTTPOnly),
            "sameSite": .optional(self.sameSite?.rawValue), "created": .integer(self.created),
        ]
    }

    init(json: JSON) throws(TransferError) {
        guard let name = json["name"]?.string, let value = json["value"]?.string, let domain = json["domain"]?.string
        else { throw TransferError(.badConfiguration, "a cookie of the configuration lacks name, value or domain") }
        do throws(SyntaxError) {
            try self.init(
                name: name,
                value: value,
                domain: domain,
                path: json["path"]?.string ?? "/",
                expires: json["expires"]?.integer,
                isSecure: json["secure"]?.bool ?? false,
                isHTTPOnly: json["httpOnly"]?.bool ?? false,
                sameSite: json["sameSite"]?.string.flatMap { SameSite(rawValue: $0) },
                created: json["created"]?.integer ?? SystemClock.now
            )
        } catch {
            throw TransferError(.badConfiguration, error.message)
        }
    }
}

extension Origin {
    var members: [JSON.Member] {
        [
            .init("scheme", .string(self.scheme.name)), .init("host", .string(self.host)),
            .init("port", .integer(Int64(self.port))),
        ]
    }

    init?(json: JSON) {
        guard let scheme = json["scheme"]?.string, scheme == "http" || scheme == "https",
            let host = json["host"]?.string, !host.isEmpty, let port = json["port"]?.integer,
            (1...65535).contains(port)
        else { return nil }
        self.init(scheme: scheme == "https" ? .https : .http, host: host, port: Int(port))
    }
}

extension Credentials {
    var json: JSON {
        .array(
            self.all.map { space, credential in
                var members = space.origin.members + [.init("realm", .optional(space.realm))]
                switch credential {
                case .password(let user, let password):
                    members += [.init("user", .string(user)), .init("password", .string(password))]
                case .bearer(let token): members.append(.init("token", .string(token)))
                }
                return .object(members)
            }
        )
    }

    init(json: JSON) throws(TransferError) {
        self.init()
        for entry in json.array ?? [] {
            guard let origin = Origin(json: entry) else {
                throw TransferError(.badConfiguration, "credentials of the configuration lack scheme, host or port")
            }
            let space = ProtectionSpace(origin: origin, realm: entry["realm"]?.string)
            if let token = entry["token"]?.string {
                self.set(.bearer(token), for: space)
            } else if let user = entry["user"]?.string {
                self.set(.password(user: user, password: entry["password"]?.string ?? ""), for: space)
            } else {
                throw TransferError(.badConfiguration, "credentials of the configuration have neither user nor token")
            }
        }
    }
}

extension SessionConfiguration.ProxyChoice {
    /// The choice as an object; settings of the environment are resolved.
    var json: JSON {
        let settings: ProxySettings =
            switch self {
            case .environment: .fromProcess()
            case .none: .none
            case .custom(let settings): settings
            }
        if settings == .none { return .null }
        return [
            "http": settings.http.json, "https": settings.https.json, "exceptions": .string(settings.exceptions.text),
        ]
    }

    init(json: JSON) throws(TransferError) {
        if json.isNull {
            self = .none
        } else {
            self = .custom(
                ProxySettings(
                    http: try ProxySettings.Rule(json: json["http"] ?? .null),
                    https: try ProxySettings.Rule(json: json["https"] ?? .null),
                    exceptions: ProxyExceptions(json["exceptions"]?.string ?? "")
                )
            )
        }
    }
}

extension ProxySettings.Rule {
    fileprivate var json: JSON {
        switch self {
        case .direct: .null
        case .proxy(let server):
            .object(server.origin.members + [.init("authorization", .optional(server.authorization))])
        case .unusable(let error): ["unusable": .string(error.message)]
        }
    }

    fileprivate init(json: JSON) throws(TransferError) {
        if json.isNull {
            self = .direct
        } else if let message = json["unusable"]?.string {
            self = .unusable(SyntaxError(message))
        } else if let origin = Origin(json: json) {
            self = .proxy(ProxyServer(origin: origin, authorization: json["authorization"]?.string))
        } else {
            throw TransferError(.badConfiguration, "a proxy of the configuration lacks scheme, host or port")
        }
    }
}

extension Discretion {
    var json: JSON {
        [
            "allowedHours": .array(
                self.allowedHours.map { [.integer(Int64($0.lowerBound)), .integer(Int64($0.upperBound))] }
            ), "requiresMainsPower": .bool(self.requiresMainsPower), "rateCeiling": .optional(self.rateCeiling),
        ]
    }

    init(json: JSON) throws(TransferError) {
        let fields = ConfigurationFields(json)
        self.init()
        for range in try fields.array("allowedHours") ?? [] {
            guard let first = range[0]?.integer, let last = range[1]?.integer, 0 <= first, first <= last, last <= 24
            else { throw fields.wrong("allowedHours") }
            self.allowedHours.append(Int(first)..<Int(last))
        }
        self.requiresMainsPower = try fields.bool("requiresMainsPower") ?? true
        self.rateCeiling = try fields.integer("rateCeiling")
    }
}

/// Paths for the daemon.
enum AbsolutePath {
    /// An absolute path, resolved against the current working directory.
    static func of(_ path: String) -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let directory = getcwd(nil, 0) else { return path }
        defer { free(directory) }
        let base = String(cString: directory)
        if path.isEmpty || path == "." { return base }
        return (base == "/" ? base : base + "/") + path
    }
}
