// SPDX-License-Identifier: Apache-2.0
package import TransferCore

// Header fields, proxies, trust and addresses.

extension OptionEntry {
    static let requests = [
        Self(OptionSpec.header), Self(OptionSpec.referer), Self(OptionSpec.userAgent), Self(OptionSpec.cookie),
        Self(OptionSpec.noCache), Self(OptionSpec.proxy), Self(OptionSpec.denyPrivateAddresses),
    ]
}

extension OptionSpec<HeaderLine> {
    /// A header field.
    package static var header: OptionSpec<HeaderLine> {
        Self(
            "header",
            letters: "H",
            .field,
            "Header field for every request, as 'Name: value'; may be repeated.",
            details: "It is not sent to other hosts after a redirect.",
            stored: "header"
        )
    }
}

extension OptionSpec<String> {
    /// The Referer field.
    package static var referer: Self {
        Self("referer", .value(of: "Referer", "url"), "The Referer field.", stored: "referer")
    }

    /// The User-Agent field.
    package static var userAgent: Self {
        Self(
            "user-agent",
            letters: "A",
            .value(of: "User-Agent", "text"),
            "The User-Agent field.",
            standard: "martlet/\(MartletVersion.text)",
            stored: "user-agent"
        )
    }

    /// Cookies.
    package static var cookie: Self {
        Self(
            "cookie",
            .value(of: "Cookie", "cookies"),
            "Cookies to send, as 'name=value; name=value'.",
            stored: "header"
        )
        .storing { "Cookie: \($0)" }
    }

    /// The contact for operators of servers.
    package static var contact: Self {
        Self(
            "contact",
            .text("contact"),
            "Mail address or URL for operators of servers, added to the default User-Agent field."
        )
    }

    package static var proxy: Self {
        Self(
            "proxy",
            .text("url"),
            "Proxy, as http://user:password@host:port, or 'none'.",
            details: "Default: the environment variables http_proxy, https_proxy, all_proxy and no_proxy.",
            stored: "all-proxy"
        )
    }

    /// Hosts without a proxy.
    package static var noProxy: Self {
        Self("no-proxy", .text("hosts"), "Hosts to contact directly, separated by commas; '*' for all.")
    }

    /// Trusted certificates.
    package static var cacert: Self {
        Self("cacert", .file(), "Trust the certificates in this PEM file instead of the system's.")
    }

    /// Public keys of servers.
    package static var pin: Self {
        Self(
            "pin",
            .text("pin"),
            "Accept only servers with this public key, as sha256//BASE64; may be repeated.",
            details: """
                Without --cacert the key is sufficient, as for a self-signed certificate; with it, both must match. \
                'martlet serve --tls-self-signed' prints its pin.
                """
        )
    }

    /// Exceptions to the refused addresses.
    package static var allowAddresses: Self {
        Self(
            "allow-addresses",
            .text("list"),
            "Permitted addresses, networks and names, such as 10.1.0.0/16,nas.local; may be repeated."
        )
    }
}

extension OptionSpec<Bool> {
    /// Whether certificates are not verified.
    package static var insecure: Self {
        Self("insecure", .flag, "Accept any certificate. An attacker on the network can then modify the files.")
    }

    /// Whether caches on the way are asked for a fresh response.
    package static var noCache: Self {
        Self(
            "no-cache",
            .flag,
            "Ask caches on the way, such as a proxy's, for a fresh response.",
            details: "Sends Cache-Control: no-cache and Pragma: no-cache, unless --header sets these fields.",
            stored: "http-no-cache"
        )
    }

    /// Whether redirects from https to http are followed.
    package static var allowDowngrade: Self {
        Self("allow-downgrade", .flag, "Follow redirects from https to http.") { $0.allowsDowngrade = $1 }
    }

    /// Whether addresses of private networks are refused.
    package static var denyPrivateAddresses: Self {
        Self(
            "deny-private-addresses",
            .flag,
            "Refuse hosts at loopback, private and other special addresses (RFC 6890).",
            details: """
                The address of each connection is judged, also after redirects; of hosts behind a proxy, which resolves \
                their names itself, only written addresses and localhost. Without it, the URLs of tables, and those \
                that clients of the daemon add over TCP, are refused link-local addresses and clouds' metadata. \
                Refused ones fail with address-denied, exit status 35.
                """,
            stored: "denied-addresses"
        )
        .storing { ($0 ? AddressRule.Refused.private : .none).rawValue }
    }
}

extension OptionSpec<Int> {
    package static var maxRedirects: Self {
        Self("max-redirects", .number(0...1000), "Maximum redirects to follow.", standard: "20") {
            $0.maximumRedirects = $1
        }
    }
}
