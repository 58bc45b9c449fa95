// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// `MARTLET_PORTABLE=1` builds without the system calls that only Linux has: what other systems run (Scripts/check-portable).
let platformSettings =
    Context.environment["MARTLET_PORTABLE"] == "1" ? settings + [.define("PORTABLE_CALLS")] : settings

/// Files of web pages, which become arrays of bytes in the executable: it remains a single file.
func pageFiles(_ folder: String, _ names: [String]) -> [Resource] { names.map { .embedInCode("\(folder)/\($0)") } }

/// The package of each product that is not ours.
let packages = [
    "ArgumentParser": "swift-argument-parser",
    "Crypto": "swift-crypto",
    "RawStructuredFieldValues": "swift-http-structured-headers",
    "HTTPTypes": "swift-http-types",
    "InMemoryLogging": "swift-log",
    "Logging": "swift-log",
    "CoreMetrics": "swift-metrics",
    "MetricsTestKit": "swift-metrics",
    "NIOCore": "swift-nio",
    "NIOEmbedded": "swift-nio",
    "NIOHTTP1": "swift-nio",
    "NIOPosix": "swift-nio",
    "NIOTLS": "swift-nio",
    "NIOWebSocket": "swift-nio",
    "NIOHTTPTypes": "swift-nio-extras",
    "NIOHTTPTypesHTTP1": "swift-nio-extras",
    "NIOResumableUpload": "swift-nio-extras",
    "NIOSSL": "swift-nio-ssl",
    "ServiceLifecycle": "swift-service-lifecycle",
    "UnixSignals": "swift-service-lifecycle",
]

extension Target {
    /// A module that uses modules of this package and products of others.
    static func module(
        _ name: String,
        uses: [String] = [],
        path: String? = nil,
        resources: [Resource] = [],
        settings: [SwiftSetting] = settings,
        linkerSettings: [LinkerSetting]? = nil
    ) -> Target {
        .target(
            name: name,
            dependencies: Self.dependencies(uses),
            path: path,
            resources: resources.isEmpty ? nil : resources,
            swiftSettings: settings,
            linkerSettings: linkerSettings
        )
    }

    /// A program.
    static func program(_ name: String, uses: [String], path: String? = nil, exclude: [String] = []) -> Target {
        .executableTarget(
            name: name,
            dependencies: Self.dependencies(uses),
            path: path,
            exclude: exclude,
            swiftSettings: settings
        )
    }

    /// The tests of a module.
    static func tests(_ name: String, uses: [String]) -> Target {
        .testTarget(name: name, dependencies: Self.dependencies(uses), swiftSettings: settings)
    }

    private static func dependencies(_ names: [String]) -> [Target.Dependency] {
        names.map { name in packages[name].map { .product(name: name, package: $0) } ?? .byName(name: name) }
    }
}

/// The worlds in which the real code runs in virtual time (Docs/Worlds.md): what is installed is built without them.
let worlds: [Target] = [
    // Worlds: the real code in virtual time (Docs/Worlds.md).
    .module(
        "Worlds",
        uses: [
            "Platform", "Concurrency", "Control", "CSQLite", "Daemon", "Datasets", "FileStorage", "Files",
            "HTTPTransport", "Martlet", "QueueStore", "SQLite", "TransferCore", "TransferEngine", "TransferTesting",
            "Crypto", "Logging",
        ]
    ),
    .program("martlet-simulate", uses: ["Platform", "Worlds", "ArgumentParser"], path: "Sources/Simulate"),
    .tests(
        "WorldsTests",
        uses: ["Platform", "Control", "Daemon", "FileStorage", "Files", "Datasets", "Worlds", "TransferTesting"]
    ),
]

let package = Package(
    name: "martlet",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .executable(name: "martlet", targets: ["MartletExecutable"]),
        .library(name: "Martlet", targets: ["Martlet"]),
        .library(name: "MartletFoundation", targets: ["MartletFoundation"]),
        .library(name: "MartletHTTPTypes", targets: ["MartletHTTPTypes"]),
        .library(name: "MartletSystemTransport", targets: ["MartletSystemTransport"]),
        .library(name: "MartletURLSession", targets: ["MartletURLSession"]),
        .library(name: "TransferTesting", targets: ["TransferTesting"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .module("Platform", settings: platformSettings),
        .module("TransferCore"),
        .module("Concurrency"),
        .module("TransferEngine", uses: ["Concurrency", "Platform", "TransferCore"]),
        .module(
            "HTTPTransport",
            uses: ["Platform", "TransferCore", "TransferEngine", "Crypto", "NIOCore", "NIOPosix", "NIOSSL", "NIOTLS"]
        ),
        .module("Files", uses: ["Platform", "TransferCore", "Crypto"]),
        .module("FileStorage", uses: ["Platform", "Files", "TransferCore", "TransferEngine", "Crypto"]),
        .module(
            "Martlet",
            uses: [
                "Platform", "Concurrency", "Control", "FileStorage", "Files", "HTTPTransport", "TransferCore",
                "TransferEngine", "CoreMetrics", "Crypto", "Logging",
            ]
        ),
        .module("Control", uses: ["Platform", "TransferCore", "Crypto", "NIOCore", "NIOPosix"]),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        // Static on Linux, so that the programs stay single files; its functions for mathematics need libm.
        .module(
            "SQLite",
            uses: ["CSQLite"],
            linkerSettings: [
                .linkedLibrary(":libsqlite3.a", .when(platforms: [.linux])),
                .linkedLibrary("m", .when(platforms: [.linux])),
                .linkedLibrary("sqlite3", .when(platforms: [.macOS, .iOS])),
            ]
        ),
        .module("QueueStore", uses: ["Platform", "Concurrency", "Control", "SQLite"]),
        .module(
            "Daemon",
            uses: [
                "Platform", "Concurrency", "Control", "FileStorage", "Files", "HTTPServer", "HTTPTransport", "Martlet",
                "QueueStore", "TransferCore", "TransferEngine", "CoreMetrics", "Crypto", "Logging", "NIOCore",
                "NIOPosix", "ServiceLifecycle", "UnixSignals",
            ],
            resources: pageFiles(
                "Server/Page/Files",
                [
                    "index.html", "daemon.css", "add.js", "app.js", "client.js", "details.js", "dialogs.js", "drag.js",
                    "events.js", "icons.js", "list.js", "plot.js", "rows.js", "transfer.js",
                ]
                    + ["en", "ja", "zh"].map { "strings.\($0).js" }
            )
        ),
        .module("MartletFoundation", uses: ["Martlet"]),
        // swift-http-types' values: the only target outside the tests that has this dependency.
        .module("MartletHTTPTypes", uses: ["Martlet", "HTTPTypes"]),
        // URLSession's interface for the engine (Docs/Decisions/0050-urlsession.md).
        .module("MartletURLSession", uses: ["Gzip", "Martlet", "MartletFoundation", "TransferCore"]),
        // A transport on the system's URLSession (Docs/Decisions/0051-system-transport.md).
        .module("MartletSystemTransport", uses: ["Martlet", "TransferCore", "TransferEngine", "Crypto"]),
        .module(
            "HTTPServer",
            uses: [
                "Platform", "Files", "TransferCore", "Crypto", "NIOCore", "NIOPosix", "NIOSSL", "NIOWebSocket",
            ],
            resources: pageFiles("Pages/Files", ["style.css", "common.js", "icon.svg"])
        ),
        .module(
            "Receiver",
            uses: [
                "Platform", "Control", "Files", "HTTPServer", "TransferCore", "Crypto", "NIOCore", "NIOPosix", "NIOSSL",
            ],
            resources: pageFiles(
                "Page/Files",
                ["receiver.css", "types.svg", "receiver.js", "links.js", "uploads.js", "tus.js", "hash.js"]
                    + ["en", "ja", "zh"].map { "strings.\($0).js" }
            )
        ),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .module(
            "Gzip",
            uses: ["CZlib", "TransferCore"],
            linkerSettings: [
                .linkedLibrary(":libz.a", .when(platforms: [.linux])),
                .linkedLibrary("z", .when(platforms: [.macOS, .iOS])),
            ]
        ),
        .module(
            "Datasets",
            uses: [
                "Platform", "Concurrency", "FileStorage", "Files", "Gzip", "TransferCore", "TransferEngine", "Crypto",
            ]
        ),
        .module(
            "CommandLineTool",
            uses: [
                "Platform", "Control", "Daemon", "Datasets", "FileStorage", "Files", "HTTPTransport", "Receiver",
                "TransferCore", "TransferEngine", "ArgumentParser", "Logging",
            ]
        ),
        .program("MartletExecutable", uses: ["CommandLineTool"]),
        // What a session adds to the engine: Benchmarks/peers --scenario library.
        .program(
            "OverheadBenchmark",
            uses: ["Platform", "FileStorage", "Files", "HTTPTransport", "Martlet", "TransferEngine"],
            path: "Benchmarks/Overhead"
        ),
        // A queue of a million entries: QueueBenchmark [COUNT].
        .program("QueueBenchmark", uses: ["Platform", "Control", "QueueStore"], path: "Benchmarks/Queue"),
        // The examples and what is around them: ./martlet example NAME. Service is a package of its own; Apple needs SwiftUI.
        .program(
            "Examples",
            uses: ["Martlet", "TransferTesting", "Crypto"],
            path: "Examples",
            exclude: ["Apple", "Service"]
        ),
        .module(
            "TransferTesting",
            uses: ["Platform", "TransferCore", "TransferEngine", "NIOCore", "NIOPosix", "NIOSSL"]
        ),
        // The behaviours of a URLSession; Scripts/check-urlsession counts them with Foundation's as well.
        .module(
            "URLSessionBehaviours",
            uses: ["MartletURLSession", "TransferTesting"],
            path: "Tests/URLSessionBehaviours"
        ),
        .tests(
            "MartletURLSessionTests",
            uses: ["MartletURLSession", "URLSessionBehaviours", "Martlet", "TransferTesting"]
        ),
        .tests(
            "MartletSystemTransportTests",
            uses: ["Martlet", "MartletSystemTransport", "TransferCore", "TransferEngine", "TransferTesting"]
        ),
        .tests("MartletHTTPTypesTests", uses: ["Martlet", "MartletHTTPTypes", "TransferTesting", "HTTPTypes"]),
        .tests(
            "TransferCoreTests",
            uses: [
                "Platform", "TransferCore", "TransferTesting", "NIOCore", "NIOEmbedded", "NIOHTTP1",
                "RawStructuredFieldValues",
            ]
        ),
        .tests("ConcurrencyTests", uses: ["Concurrency"]),
        .tests("TransferEngineTests", uses: ["TransferEngine", "TransferTesting"]),
        .tests("HTTPTransportTests", uses: ["Platform", "HTTPTransport", "Receiver", "TransferTesting", "NIOCore"]),
        .tests("FilesTests", uses: ["Platform", "Files", "TransferCore", "TransferEngine", "TransferTesting"]),
        .tests("FileStorageTests", uses: ["Platform", "FileStorage", "Files", "TransferTesting"]),
        .tests(
            "ControlTests",
            uses: ["Platform", "Control", "TransferCore", "TransferTesting", "NIOCore", "NIOPosix"]
        ),
        .tests("SQLiteTests", uses: ["Platform", "SQLite", "TransferTesting"]),
        .tests("QueueStoreTests", uses: ["Platform", "Control", "QueueStore", "SQLite", "TransferTesting"]),
        .tests(
            "DaemonTests",
            uses: [
                "Platform", "Control", "Daemon", "HTTPServer", "Martlet", "QueueStore", "TransferCore",
                "TransferEngine", "TransferTesting", "Logging", "NIOCore", "NIOPosix",
            ]
        ),
        .tests(
            "DatasetsTests",
            uses: [
                "Platform", "Datasets", "FileStorage", "Files", "Gzip", "TransferCore", "TransferEngine",
                "TransferTesting", "Crypto",
            ]
        ),
        .tests(
            "CommandLineToolTests",
            uses: [
                "Platform", "CommandLineTool", "Control", "Daemon", "Datasets", "FileStorage", "Files", "Receiver",
                "TransferTesting", "Logging",
            ]
        ),
        .tests(
            "HTTPServerTests",
            uses: ["Platform", "HTTPServer", "TransferCore", "TransferTesting", "NIOCore", "NIOPosix"]
        ),
        .tests(
            "ReceiverTests",
            uses: [
                "Platform", "Control", "FileStorage", "Files", "HTTPServer", "Receiver", "TransferCore",
                "TransferTesting", "NIOCore", "NIOPosix", "NIOSSL",
            ]
        ),
        // The draft's server is of nio-extras, which brings full Foundation: here only.
        .tests(
            "IntegrationTests",
            uses: [
                "Platform", "FileStorage", "Files", "HTTPTransport", "TransferTesting", "HTTPTypes", "NIOCore",
                "NIOHTTP1", "NIOHTTPTypes", "NIOHTTPTypesHTTP1", "NIOPosix", "NIOResumableUpload",
            ]
        ),
        .tests(
            "DocumentationTests",
            uses: [
                "Martlet", "MartletFoundation", "MartletHTTPTypes", "MartletSystemTransport", "TransferTesting",
                "HTTPTypes", "Logging",
            ]
        ),
        .tests(
            "MartletTests",
            uses: [
                "Platform", "Control", "Martlet", "MartletFoundation", "TransferCore", "TransferTesting",
                "InMemoryLogging", "Logging", "MetricsTestKit", "NIOCore", "NIOPosix",
            ]
        ),
    ] + (Context.environment["MARTLET_WITHOUT_WORLDS"] == "1" ? [] : worlds),
    swiftLanguageModes: [.v6]
)
