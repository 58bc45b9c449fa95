// swift-tools-version: 6.2
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
        .library(name: "TransferTesting", targets: ["TransferTesting"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
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
            name: "Martlet",
            dependencies: [
                "TransferCore", "TransferEngine", "HTTPTransport", "FileStorage",
            ],
            swiftSettings: settings
        ),
        .target(
            name: "CommandLineTool",
            dependencies: [
                "HTTPTransport", "Martlet", "TransferCore", "TransferEngine",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(name: "MartletExecutable", dependencies: ["CommandLineTool"], swiftSettings: settings),
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
        .testTarget(name: "IntegrationTests", dependencies: ["Martlet", "TransferTesting"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
