// swift-tools-version: 6.3
// SPDX-License-Identifier: Apache-2.0
import PackageDescription

/// `MARTLET_FOUNDATION=1` builds the cases with Foundation's URLSession instead of MartletURLSession.
let isFoundation = Context.environment["MARTLET_FOUNDATION"] == "1"

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// The behaviours of a URLSession, counted with Foundation's and with Martlet's: Scripts/check-urlsession.
let package = Package(
    name: "urlsession",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "martlet", path: "../..")],
    targets: [
        .target(
            // Not the name of the main package's target.
            name: "SessionBehaviours",
            dependencies: [.product(name: "TransferTesting", package: "martlet")]
                + (isFoundation ? [] : [.product(name: "MartletURLSession", package: "martlet")]),
            path: "Sources/URLSessionBehaviours",
            swiftSettings: settings + (isFoundation ? [.define("FOUNDATION_SESSION")] : [])
        ),
        .executableTarget(
            name: "urlsession-behaviours",
            dependencies: ["SessionBehaviours"],
            swiftSettings: settings
        ),
        // Whether sessions and tasks are released: `Scripts/check-urlsession --leaks`.
        .executableTarget(
            name: "urlsession-leaks",
            dependencies: [.product(name: "TransferTesting", package: "martlet")]
                + (isFoundation ? [] : [.product(name: "MartletURLSession", package: "martlet")]),
            swiftSettings: settings + (isFoundation ? [.define("FOUNDATION_SESSION")] : [])
        ),
    ],
    swiftLanguageModes: [.v6]
)
