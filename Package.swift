// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
    name: "martlet",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "martlet", targets: ["MartletExecutable"]),
        .library(name: "Martlet", targets: ["Martlet"]),
        .library(name: "MartletFoundation", targets: ["MartletFoundation"]),
        .library(name: "TransferTesting", targets: ["TransferTesting"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    ],
    targets: [
        .target(name: "TransferCore", swiftSettings: settings),
        .target(
            name: "TransferEngine",
            dependencies: ["TransferCore"],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPTransport",
            dependencies: [
                "TransferCore", "TransferEngine",
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
                "TransferCore", "TransferEngine",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "TransferAssembly",
            dependencies: ["FileStorage", "HTTPTransport", "TransferCore", "TransferEngine"],
            swiftSettings: settings
        ),
        .target(
            name: "Martlet",
            dependencies: [
                "FileStorage", "HTTPTransport", "TransferAssembly", "TransferCore", "TransferEngine",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .target(name: "MartletFoundation", dependencies: ["Martlet"], swiftSettings: settings),
        .target(
            name: "CommandLineTool",
            dependencies: [
                "HTTPTransport", "TransferAssembly", "TransferCore", "TransferEngine",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "MartletExecutable", dependencies: ["CommandLineTool"], swiftSettings: settings),
        // What a session adds to the engine: Benchmarks/peers --scenario library.
        .executableTarget(
            name: "OverheadBenchmark",
            dependencies: ["HTTPTransport", "Martlet", "TransferAssembly", "TransferEngine"],
            path: "Benchmarks/Overhead",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "ImageQueue",
            dependencies: ["Martlet"],
            path: "Examples/ImageQueue",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "OfflineDownloader",
            dependencies: ["Martlet"],
            path: "Examples/OfflineDownloader",
            swiftSettings: settings
        ),
        .target(
            name: "TransferTesting",
            dependencies: [
                "TransferCore", "TransferEngine",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TransferCoreTests",
            dependencies: [
                "TransferCore", "TransferTesting", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TransferEngineTests",
            dependencies: ["TransferEngine", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPTransportTests",
            dependencies: ["HTTPTransport", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FileStorageTests",
            dependencies: ["FileStorage", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CommandLineToolTests",
            dependencies: ["CommandLineTool", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: ["TransferAssembly", "TransferTesting"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "Martlet", "MartletFoundation", "TransferTesting", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "MartletTests",
            dependencies: [
                "Martlet", "MartletFoundation", "TransferTesting",
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
