// SPDX-License-Identifier: Apache-2.0

extension ForeignOption {
    /// Letters that mean different things, or whose value one program takes from the next word and another does not.
    static let clashes = [
        Self(
            "-c",
            [.curl, .wget, .aria2],
            .flag,
            .answer(
                "it continues a file in wget and aria2, which martlet does anyway: leave it out; in curl it writes cookies: "
                    + "write --cookie-jar FILE"
            )
        ),
        Self(
            "-O",
            [.curl, .wget, .aria2],
            .flag,
            .answer(
                "in curl it takes the URL's name, which martlet does anyway: leave it out; in wget it names the file: "
                    + "write -o NAME"
            )
        ),
        Self(
            "-r",
            [.curl, .wget],
            .flag,
            .answer(
                "in curl it fetches a range, in wget whole sites: martlet does neither; a list of URLs is read with -i"
            )
        ),
        Self(
            "-k",
            [.curl, .wget, .aria2],
            .flag,
            .answer(
                "in curl it accepts any certificate: write --insecure, or better --cacert FILE; in aria2 it is the smallest "
                    + "part: write --min-split-size SIZE; in wget it converts links, which martlet does not"
            )
        ),
        Self(
            "-s",
            [.curl, .aria2],
            .flag,
            .answer("in curl it is silent: write -q; in aria2 it is the number of connections: write -x NUMBER")
        ),
        Self(
            "-S",
            [.curl, .wget, .aria2],
            .flag,
            .answer(
                "in curl it prints failures, which martlet does anyway: leave it out; in wget it prints responses: write "
                    + "--verbose"
            )
        ),
        Self(
            "-T",
            [.curl, .wget],
            .flag,
            .answer("in curl it uploads: write martlet put FILE URL; in wget it is a timeout: write --timeout SECONDS")
        ),
        Self(
            "-t",
            [.curl, .wget, .aria2],
            .flag,
            .answer("in wget it is the number of tries: write --tries N; in aria2 a timeout: write --timeout SECONDS")
        ),
        Self(
            "-e",
            [.curl, .wget],
            .flag,
            .answer("in curl it is the referer: write --referer URL; in wget a setting: write the option for it")
        ),
        Self(
            "-b",
            [.curl, .wget],
            .flag,
            .answer(
                "in curl it sends cookies: write --cookie 'name=value', or --load-cookies FILE; in wget it goes to the "
                    + "background: write martlet add URL"
            )
        ),
        Self(
            "-m",
            [.curl, .wget, .aria2],
            .flag,
            .answer(
                "in curl it is the maximum time: write --max-time SECONDS; in aria2 the number of tries: write --tries N; in "
                    + "wget it mirrors a site, which martlet does not"
            )
        ),
        Self(
            "-R",
            [.curl, .wget, .aria2],
            .flag,
            .answer(
                "in curl and aria2 it keeps the server's time, which martlet does anyway: leave it out; in wget it rejects "
                    + "names, which martlet does not"
            )
        ),
        Self(
            "-n",
            [.curl, .aria2],
            .flag,
            .answer(
                "in curl it reads ~/.netrc: write --netrc; in aria2 it does not, as martlet without it: leave it out"
            )
        ),
        Self(
            "-v",
            [.curl, .wget, .aria2],
            .flag,
            .answer("in curl and wget it prints details: write --verbose; in aria2 the version: write --version")
        ),
        Self(
            "-V",
            [.curl, .wget, .aria2],
            .flag,
            .answer(
                "in curl and wget it prints the version: write --version; in aria2 it verifies digests: write --checksum"
            )
        ),
        Self(
            "-U",
            [.curl, .wget, .aria2],
            .flag,
            .answer(
                "in wget and aria2 it is the User-Agent: write -A TEXT; in curl the proxy's user: write it into --proxy"
            )
        ),
        Self(
            "-E",
            [.curl, .wget],
            .flag,
            .answer("in curl it is a certificate: write --cert FILE; in wget it changes names, which martlet does not")
        ),
        Self(
            "-z",
            [.curl],
            .flag,
            .answer("write --timestamping, which fetches a file only if it has changed")
        ),
        Self(
            "-Q -w",
            [.curl, .wget],
            .flag,
            .answer("curl's and wget's meanings differ; write the long name, such as --wait SECONDS")
        ),
        Self(
            "-l -a -D",
            [.curl, .wget, .aria2],
            .flag,
            .answer("curl's, wget's and aria2's meanings differ; see martlet help")
        ),
        Self(
            "--no-clobber",
            [.curl, .wget],
            .flag,
            .answer(
                "in wget it skips a file that exists: write --if-exists skip; in curl it numbers: write --if-exists rename"
            )
        ),
        Self(
            "--max-download-limit",
            [.aria2],
            .value,
            .answer(
                "it is for each file; for the run write --limit-rate SIZE, for each transfer martlet add --limit-rate SIZE"
            )
        ),
    ]

    private static let recursion =
        "martlet fetches the URLs that it is given, and no pages' links; a list of URLs is read with --input-file"
    private static let put =
        "martlet get only fetches; write martlet put FILE URL, or martlet put --form NAME=VALUE URL"

    /// Abilities left out on purpose, and those with another form.
    static let refused = [
        Self(
            "--recursive -p --page-requisites --convert-links -np --no-parent",
            [.wget],
            .flag,
            .answer(Self.recursion)
        ),
        Self("-nH --span-hosts --adjust-extension", [.wget], .flag, .answer(Self.recursion)),
        Self("--level --accept --reject --domains", [.wget], .value, .answer(Self.recursion)),
        Self("--data --data-raw --data-binary --data-urlencode", [.curl], .value, .answer(Self.put)),
        Self("--post-data --post-file --body-data --body-file", [.wget], .value, .answer(Self.put)),
        Self("-F --form", [.curl], .value, .answer(Self.put)),
        Self("--upload-file", [.curl], .value, .answer(Self.put)),
        Self(
            "-X --request --method",
            [.curl, .wget],
            .value,
            .answer("martlet get sends GET; to send content, write martlet put -X METHOD FILE URL")
        ),
        Self("-G --get", [.curl], .flag, .answer("write the query into the URL")),
        Self(
            "--range",
            [.curl],
            .value,
            .answer("martlet fetches whole files; it requests ranges itself to continue them")
        ),
        Self(
            "-K --config",
            [.curl],
            .value,
            .answer("there are no profiles; put the options into a script or a shell alias")
        ),
        Self(
            "--conf-path",
            [.aria2],
            .value,
            .answer("there are no profiles; put the options into a script or a shell alias")
        ),
        Self(
            "--cookies-from-browser",
            [],
            .value,
            .answer("export the browser's cookies into a file, and write --load-cookies FILE")
        ),
        Self(
            "--background --daemon",
            [.wget, .aria2],
            .truth,
            .answer("write martlet add URL: the daemon fetches it in the background")
        ),
        Self("--write-out", [.curl], .value, .answer("write --json, which prints an object per event")),
        Self("--include", [.curl], .flag, .answer("write --verbose, which prints responses, or --dry-run")),
        Self(
            "--stderr --output-file --append-output --log",
            [.curl, .wget, .aria2],
            .value,
            .answer("redirect the output: 2> FILE")
        ),
        Self(
            "--interface --bind-address",
            [.curl, .wget, .aria2],
            .value,
            .answer("martlet connects from any address; leave it out")
        ),
        Self(
            "--resolve --connect-to --dns-servers --doh-url",
            [.curl],
            .value,
            .answer("names are resolved by the system; change /etc/hosts")
        ),
        Self("--unix-socket", [.curl], .value, .answer("martlet get connects over TCP")),
        Self("--http2-prior-knowledge --http3", [.curl], .flag, .answer("martlet speaks HTTP/1.1")),
        Self("--ntlm --negotiate", [.curl], .flag, .answer("martlet has Basic, Digest and bearer authentication")),
        Self(
            "--proxy-user",
            [.curl, .wget],
            .value,
            .answer("write it into --proxy, as http://user:password@host:port")
        ),
        Self(
            "--http-proxy --https-proxy",
            [.aria2],
            .value,
            .answer("write --proxy URL, or set http_proxy or https_proxy")
        ),
        Self(
            "--max-filesize --quota",
            [.curl, .wget],
            .value,
            .answer("files have no limit of size here, except with --shards: --max-size")
        ),
        Self(
            "--retry-max-time",
            [.curl],
            .value,
            .answer("write --max-time SECONDS for a file, or --outage-timeout SECONDS")
        ),
        Self(
            "--waitretry",
            [.wget],
            .value,
            .answer("delays grow by themselves; write --retry-wait SECONDS for the shortest")
        ),
        Self("--retry-all-errors", [.curl], .flag, .answer("write --retry-status STATUS for each status")),
        Self("--no-use-server-timestamps", [.wget], .flag, .answer("files have the server's time; touch changes it")),
        Self(
            "--seed-time --bt-stop-timeout --listen-port",
            [.aria2],
            .value,
            .answer("martlet does not transfer torrents")
        ),
        Self(
            "--torrent-file --metalink-file",
            [.aria2],
            .value,
            .answer("martlet transfers files over HTTP and HTTPS")
        ),
    ]

    /// Options of ours that have another meaning there, with an explanation for wrong arguments.
    static let ours: [(spelling: String, note: String)] = [
        ("--digest", "curl's --digest is Digest authentication without Basic: write --digest-only"),
        ("--json", "curl's --json sends JSON: write martlet put --type application/json FILE URL -X POST"),
        ("--mirror", "wget's --mirror copies a site, which martlet does not; here it takes another URL of the file"),
        ("--no-proxy", "wget's --no-proxy has no value: write --proxy none"),
        ("-d", "curl's -d sends data: write martlet put; here it takes a directory"),
        ("-i", "curl's -i prints the response: write --verbose; here it takes a list of URLs"),
        ("-x", "curl's -x is a proxy: write --proxy URL; here it takes the number of connections"),
    ]

    /// The explanations for the options among arguments.
    static func notes(for arguments: [String]) -> [String] {
        Self.ours.filter { arguments.contains($0.spelling) }.map(\.note)
    }
}
