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

/// The worlds in which the real code runs in virtual time (Docs/Worlds.md): what is installed is built without them.
let worlds: [Target] = [
    // Worlds: the real code in virtual time (Docs/Worlds.md).
    .target(
        name: "Worlds",
        dependencies: [
            "Platform", "Concurrency", "Control", "CSQLite", "Daemon", "Datasets", "FileStorage", "HTTPTransport",
            "Martlet", "QueueStore", "SQLite", "TransferCore", "TransferEngine", "TransferTesting",
            .product(name: "Crypto", package: "swift-crypto"), .product(name: "Logging", package: "swift-log"),
        ],
        swiftSettings: settings
    ),
    .executableTarget(
        name: "martlet-simulate",
        dependencies: ["Platform", "Worlds", .product(name: "ArgumentParser", package: "swift-argument-parser")],
        path: "Sources/Simulate",
        swiftSettings: settings
    ),
    .testTarget(
        name: "WorldsTests",
        dependencies: ["Platform", "FileStorage", "Datasets", "Worlds", "TransferTesting"],
        swiftSettings: settings
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
        .target(name: "Platform", swiftSettings: platformSettings),
        .target(name: "TransferCore", swiftSettings: settings),
        .target(name: "Concurrency", swiftSettings: settings),
        .target(
            name: "TransferEngine",
            dependencies: ["Concurrency", "Platform", "TransferCore"],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPTransport",
            dependencies: [
                "Platform", "TransferCore", "TransferEngine",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FileStorage",
            dependencies: [
                "Platform", "TransferCore", "TransferEngine",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Martlet",
            dependencies: [
                "Platform", "Concurrency", "Control", "FileStorage", "HTTPTransport",
                "TransferCore",
                "TransferEngine",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Control",
            dependencies: [
                "Platform", "TransferCore", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]),
        .target(
            name: "SQLite",
            dependencies: ["CSQLite"],
            swiftSettings: settings,
            // Static on Linux, so that the programs stay single files; its functions for mathematics need libm.
            linkerSettings: [
                .linkedLibrary(":libsqlite3.a", .when(platforms: [.linux])),
                .linkedLibrary("m", .when(platforms: [.linux])),
                .linkedLibrary("sqlite3", .when(platforms: [.macOS, .iOS])),
            ]
        ),
        .target(
            name: "QueueStore",
            dependencies: ["Platform", "Concurrency", "Control", "SQLite"],
            swiftSettings: settings
        ),
        .target(
            name: "Daemon",
            dependencies: [
                "Platform", "Concurrency", "Control", "FileStorage", "HTTPServer", "HTTPTransport", "Martlet",
                "QueueStore", "TransferCore", "TransferEngine",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            resources: pageFiles(
                "Server/Page/Files",
                [
                    "index.html", "daemon.css", "add.js", "app.js", "client.js", "details.js", "dialogs.js", "drag.js",
                    "events.js", "icons.js", "list.js", "plot.js", "rows.js", "transfer.js",
                ]
                    + ["en", "ja", "zh"].map { "strings.\($0).js" }
            ),
            swiftSettings: settings
        ),
        .target(name: "MartletFoundation", dependencies: ["Martlet"], swiftSettings: settings),
        // swift-http-types' values: the only target outside the tests that has this dependency.
        .target(
            name: "MartletHTTPTypes",
            dependencies: ["Martlet", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: settings
        ),
        // URLSession's interface for the engine (Docs/Decisions/0050-urlsession.md).
        .target(
            name: "MartletURLSession",
            dependencies: ["Gzip", "Martlet", "MartletFoundation", "TransferCore"],
            swiftSettings: settings
        ),
        // A transport on the system's URLSession (Docs/Decisions/0051-system-transport.md).
        .target(
            name: "MartletSystemTransport",
            dependencies: [
                "Martlet", "TransferCore", "TransferEngine", .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPServer",
            dependencies: [
                "Platform", "FileStorage", "TransferCore",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            resources: pageFiles("Pages/Files", ["style.css", "common.js", "icon.svg"]),
            swiftSettings: settings
        ),
        .target(
            name: "Receiver",
            dependencies: [
                "Platform", "Control", "FileStorage", "HTTPServer", "TransferCore",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            resources: pageFiles(
                "Page/Files",
                ["receiver.css", "types.svg", "receiver.js", "links.js", "uploads.js", "tus.js", "hash.js"]
                    + ["en", "ja", "zh"].map { "strings.\($0).js" }
            ),
            swiftSettings: settings
        ),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "Gzip",
            dependencies: ["CZlib"],
            swiftSettings: settings,
            linkerSettings: [
                .linkedLibrary(":libz.a", .when(platforms: [.linux])),
                .linkedLibrary("z", .when(platforms: [.macOS, .iOS])),
            ]
        ),
        .target(
            name: "Datasets",
            dependencies: [
                "Platform", "Concurrency", "FileStorage", "Gzip", "TransferCore", "TransferEngine",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CommandLineTool",
            dependencies: [
                "Platform", "Control", "Daemon", "Datasets", "FileStorage", "HTTPTransport", "Receiver",
                "TransferCore", "TransferEngine",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "MartletExecutable", dependencies: ["CommandLineTool"], swiftSettings: settings),
        // What a session adds to the engine: Benchmarks/peers --scenario library.
        .executableTarget(
            name: "OverheadBenchmark",
            dependencies: ["Platform", "FileStorage", "HTTPTransport", "Martlet", "TransferEngine"],
            path: "Benchmarks/Overhead",
            swiftSettings: settings
        ),
        // A queue of a million entries: QueueBenchmark [COUNT].
        .executableTarget(
            name: "QueueBenchmark",
            dependencies: ["Platform", "Control", "QueueStore"],
            path: "Benchmarks/Queue",
            swiftSettings: settings
        ),
        // The examples and what is around them: ./martlet example NAME. Service is a package of its own; Apple needs SwiftUI.
        .executableTarget(
            name: "Examples",
            dependencies: ["Martlet", "TransferTesting", .product(name: "Crypto", package: "swift-crypto")],
            path: "Examples",
            exclude: ["Apple", "Service"],
            swiftSettings: settings
        ),
        .target(
            name: "TransferTesting",
            dependencies: [
                "Platform", "TransferCore", "TransferEngine",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        // The behaviours of a URLSession; Scripts/check-urlsession counts them with Foundation's as well.
        .target(
            name: "URLSessionBehaviours",
            dependencies: ["MartletURLSession", "TransferTesting"],
            path: "Tests/URLSessionBehaviours",
            swiftSettings: settings
        ),
        .testTarget(
            name: "MartletURLSessionTests",
            dependencies: ["MartletURLSession", "URLSessionBehaviours", "Martlet", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "MartletSystemTransportTests",
            dependencies: ["Martlet", "MartletSystemTransport", "TransferCore", "TransferEngine", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "MartletHTTPTypesTests",
            dependencies: [
                "Martlet", "MartletHTTPTypes", "TransferTesting",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TransferCoreTests",
            dependencies: [
                "Platform", "TransferCore", "TransferTesting", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "RawStructuredFieldValues", package: "swift-http-structured-headers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "ConcurrencyTests", dependencies: ["Concurrency"], swiftSettings: settings),
        .testTarget(
            name: "TransferEngineTests",
            dependencies: ["TransferEngine", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPTransportTests",
            dependencies: [
                "Platform", "HTTPTransport", "Receiver", "TransferTesting",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FileStorageTests",
            dependencies: ["Platform", "FileStorage", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ControlTests",
            dependencies: [
                "Platform", "Control", "TransferCore", "TransferTesting",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SQLiteTests",
            dependencies: ["Platform", "SQLite", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "QueueStoreTests",
            dependencies: ["Platform", "Control", "QueueStore", "SQLite", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DaemonTests",
            dependencies: [
                "Platform", "Control", "Daemon", "HTTPServer", "Martlet", "QueueStore", "TransferCore",
                "TransferEngine",
                "TransferTesting",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DatasetsTests",
            dependencies: [
                "Platform", "Datasets", "FileStorage", "Gzip", "TransferCore", "TransferEngine", "TransferTesting",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CommandLineToolTests",
            dependencies: [
                "Platform", "CommandLineTool", "Control", "Daemon", "Datasets", "FileStorage", "Receiver",
                "TransferTesting",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "Platform", "HTTPServer", "TransferCore", "TransferTesting",
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ReceiverTests",
            dependencies: [
                "Platform", "Control", "FileStorage", "HTTPServer", "Receiver", "TransferCore", "TransferTesting",
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "IntegrationTests",
            // The draft's server is of nio-extras, which brings full Foundation: here only.
            dependencies: [
                "Platform", "FileStorage", "HTTPTransport", "TransferTesting",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOResumableUpload", package: "swift-nio-extras"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "Martlet", "MartletFoundation", "MartletHTTPTypes", "MartletSystemTransport", "TransferTesting",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "MartletTests",
            dependencies: [
                "Platform", "Control", "Martlet", "MartletFoundation", "TransferCore", "TransferTesting",
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
    ] + (Context.environment["MARTLET_WITHOUT_WORLDS"] == "1" ? [] : worlds),
    swiftLanguageModes: [.v6]
)
