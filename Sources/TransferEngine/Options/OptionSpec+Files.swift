// SPDX-License-Identifier: Apache-2.0
package import TransferCore

// Sources and destinations of files.

extension OptionEntry {
    static let files = [
        Self(OptionSpec.output), Self(OptionSpec.directory), Self(OptionSpec.ifExists), Self(OptionSpec.ifRunning),
        Self(OptionSpec.checksum), Self(OptionSpec.dryRun),
    ]
}

extension OptionSpec<String> {
    /// A list of URLs.
    package static var inputFile: Self {
        Self(
            "input-file",
            letters: "i",
            .file(),
            "Read URLs from a file, or from standard input if it is '-'.",
            details: """
                One file per line, mirrors separated by TABs; the indented lines after it set out=, dir=, checksum=, \
                header=, split= and other options of aria2 for that file. Lines that begin with # are comments.
                """
        )
    }

    /// The name of the file.
    package static var output: Self {
        Self(
            "output",
            letters: "o",
            .file("name"),
            "File name, device or named pipe, or '-' for standard output; for one URL only.",
            details: "The name is never changed: another file with it is an error, unless --if-exists permits more.",
            stored: "out"
        )
    }

    /// The directory of files.
    package static var directory: Self {
        Self(
            "directory",
            letters: "d",
            .directory,
            "Directory for the files; created if it does not exist.",
            standard: ".",
            stored: "dir"
        ) {
            $0.directory = $1
        }
    }
}

extension OptionSpec<IfExistsRule> {
    /// The rule for a file that exists.
    package static var ifExists: OptionSpec<IfExistsRule> {
        Self(
            "if-exists",
            .choice("what", IfExistsRule.allCases),
            "What to do if the file already exists.",
            standard: "auto",
            details: """
                One of auto, update, skip, resume, rename, overwrite and fail. auto skips a file equal to the server's, \
                resumes one that martlet started, and otherwise adds a number to a name that the server or the URL \
                chose; a name given with -o or out= fails with status 13. update is --timestamping.
                """,
            stored: "if-exists"
        ) {
            $0.ifExists = $1
        }
    }
}

extension OptionSpec<IfRunningRule> {
    /// The rule for a file that another process is downloading.
    package static var ifRunning: OptionSpec<IfRunningRule> {
        Self(
            "if-running",
            .choice("what", IfRunningRule.allCases),
            "What to do if another process is downloading the file.",
            standard: "wait",
            details: """
                One of wait, fail and rename. wait continues when the other process has ended, and decides then by \
                --if-exists; fail ends with status 11; rename adds a number to the name and downloads the file twice. \
                With --if-exists rename or fail, the default is rename or fail.
                """,
            stored: "if-running"
        ) {
            $0.ifRunning = $1
        }
    }
}

extension OptionSpec<ExpectedDigest> {
    /// A digest that the file must have.
    package static var checksum: OptionSpec<ExpectedDigest> {
        Self(
            "checksum",
            .digest,
            "Expected digest of the file, as ALGORITHM:DIGEST; may be repeated.",
            details: "Algorithms: md5, sha1, sha256, sha384, sha512; the digest in hexadecimal or base64.",
            stored: "checksum"
        )
    }
}

extension OptionSpec<DigestAlgorithm> {
    /// The algorithm of a digest to report.
    package static var digest: OptionSpec<DigestAlgorithm> {
        Self("digest", .algorithm, "Report the digest of each file with this algorithm.") { $0.reportDigest = $1 }
    }
}

extension OptionSpec<String> {
    /// The list of the digests of all files.
    package static var checksumsFrom: Self {
        Self(
            "checksums-from",
            .file("list"),
            "Verify every file by its line in a list of digests: SHA256SUMS, MD5SUMS and their like.",
            details: """
                A file, '-' for standard input, or a URL, which is fetched first. The lines are those of sha256sum or \
                of BSD's sha256. A file is looked up by its name and by the path of its URL; one without a line fails \
                before its transfer, unless a checksum= line of the input file gives its digest.
                """
        )
    }
}

extension OptionSpec<Bool> {
    /// Whether existing files are replaced by other versions only.
    package static var timestamping: Self {
        Self(
            "timestamping",
            letters: "N",
            .flag,
            "Fetch a file only if the server has another version; replace it once the new one is complete.",
            details: """
                One conditional request per file, with the entity tag or the Last-Modified that martlet stored with it, \
                else with its modification time. The same as --if-exists update.
                """
        ) {
            if $1 { $0.ifExists = .update }
        }
    }

    /// Whether a file that fails its digest is deleted.
    package static var deleteBad: Self {
        Self(
            "delete-bad",
            .flag,
            "Delete a file that fails its checksum instead of keeping it as NAME.martlet-bad."
        ) {
            $0.keepBad = !$1
        }
    }

    /// Whether files are only asked about.
    package static var dryRun: Self {
        Self(
            "dry-run",
            .flag,
            "Ask for each file without fetching it: by HEAD, following redirects.",
            details: "The exit status says whether all are there; --verbose prints the responses.",
            stored: "dry-run"
        )
    }

    /// Whether files are synced.
    package static var durable: Self {
        Self("durable", .flag, "Sync every file to disk before it is reported as finished.") { $0.durable = $1 }
    }
}
