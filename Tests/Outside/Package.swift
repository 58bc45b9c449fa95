// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

// A program that depends on the package as others do: it sees the public products only.
let package = Package(
    name: "outside",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "martlet", path: "../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "Outside",
            dependencies: [
                .product(name: "Martlet", package: "martlet"),
                .product(name: "MartletFoundation", package: "martlet"),
                .product(name: "TransferTesting", package: "martlet"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        // The program of Docs/Tutorial.md.
        .executableTarget(name: "Collect", dependencies: [.product(name: "Martlet", package: "martlet")]),
        // The program of README.md.
        .executableTarget(name: "Reader", dependencies: [.product(name: "Martlet", package: "martlet")]),
        // The five articles' code in Swift of today (Docs/Translations.md): the same files with Martlet's URLSession and with
        // Foundation's. The second folder is a link to the first.
        .executableTarget(
            name: "Translations",
            dependencies: [.product(name: "MartletURLSession", package: "martlet")],
            swiftSettings: [.define("MARTLET")]
        ),
        .executableTarget(name: "TranslationsFoundation"),
    ],
    swiftLanguageModes: [.v6]
)
