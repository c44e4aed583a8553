// swift-tools-version: 6.3

import PackageDescription

// What `contrib/fuzz/run` builds: the modules that parse strangers' input, without those of their files that need a
// database or a network, all of them with the fuzzer's counters. `modules`, `plugins` and `abi` lead to their
// sources; `run` makes them.

/// A module of Carillon, or those of its files that parse.
func parser(
    _ name: String,
    path: String? = nil,
    uses dependencies: [Target.Dependency] = [],
    sources: [String]? = nil
) -> Target {
    .target(name: name, dependencies: dependencies, path: "modules/\(path ?? name)", sources: sources)
}

func library(_ name: String, _ pkgConfig: String) -> Target {
    .systemLibrary(name: name, path: "modules/System/\(name)", pkgConfig: pkgConfig)
}

let package = Package(
    name: "carillon-fuzz",
    products: [.executable(name: "carillon-fuzz", targets: ["CarillonFuzz"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: [
        library("COpenSSL", "libcrypto"),
        library("CSecp256k1", "libsecp256k1"),
        library("CPCRE2", "libpcre2-8"),
        library("CLibcurl", "libcurl"),
        library("CNghttp2", "libnghttp2"),
        .target(name: "CCurl", dependencies: ["CLibcurl"], path: "modules/System/CCurl"),
        .systemLibrary(name: "CLibFuzzer", path: "CLibFuzzer"),
        // A header for plugins, and nothing of Swift.
        .target(
            name: "CJSONHeader",
            path: "CJSONHeader",
            cSettings: [
                .unsafeFlags(["-I", "\(Context.packageDirectory)/../../include", "-fsanitize=fuzzer-no-link"])
            ]
        ),

        .target(name: "CarillonABI", path: "abi", publicHeadersPath: "include"),

        parser("Units"),
        parser("ASCII"),
        parser("Cipher", uses: ["ASCII", "COpenSSL"]),
        parser("Schnorr", uses: ["Cipher", "CSecp256k1"]),
        parser("JSON"),
        parser("Caching"),
        parser("Nostr", uses: ["ASCII", "Cipher", "JSON", "Schnorr", "Units"]),
        parser("Notifications", uses: ["Units"]),
        parser("YAMLReading", uses: [.product(name: "Yams", package: "Yams")]),
        parser("Patterns", uses: ["CPCRE2"]),
        parser("Platforms", uses: ["JSON", "Notifications", "Patterns", "Units"]),
        parser("WebPushEncryption", uses: ["Cipher", "Units"]),
        parser(
            "Rules",
            uses: [
                "Caching", "JSON", "Nostr", "Notifications", "Patterns", "Platforms", "Units", "YAMLReading",
                .product(name: "Mustache", package: "swift-mustache"),
            ]
        ),
        parser("Listening", path: "Ingress/Listening", uses: ["Units"], sources: ["ClientAddress.swift"]),
        parser(
            "WebIngress",
            path: "Ingress/Web",
            uses: ["ASCII", "Cipher", "Notifications", "Listening", "Units", "WebPushEncryption"],
            sources: ["Request"]
        ),
        parser(
            "Registry",
            uses: ["ASCII", "Cipher", "JSON", "Schnorr", "Nostr", "Notifications", "Platforms", "Units"],
            sources: [
                "Keys/RouterKeys.swift", "Preferences", "Registration", "Secrets/AddressCodec.swift",
                "Secrets/SealingKey+Registration.swift",
            ]
        ),
        .target(name: "NIOSSL", path: "WithoutTLS"),
        parser(
            "HTTPLanes",
            uses: [
                "ASCII", "CNghttp2", "NIOSSL", "Units", .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            sources: [
                "AddressGuard.swift", "ByteComparison.swift", "ConnectionScope.swift", "Exchange.swift", "HTTP2",
                "HTTPFields.swift", "HTTPRequest.swift", "IPAddress.swift", "URLParts.swift",
            ]
        ),
        parser(
            "RelayPool",
            path: "Ingress/RelayPool",
            uses: ["HTTPLanes", "Units", .product(name: "NIOCore", package: "swift-nio")],
            sources: ["Connection/ConnectionLimits.swift", "Connection/FrameCutter.swift"]
        ),
        parser("NATS", sources: ["NATSError.swift", "Wire/NATSHeaders.swift", "Wire/ServerMessage.swift"]),
        parser("PluginServices"),
        parser("PluginProtocol", uses: ["CarillonABI", "PluginServices"]),
        .target(
            name: "PluginKit",
            dependencies: ["ASCII", "Caching"],
            path: "plugins/PluginKit",
            sources: ["Exports.swift"]
        ),
        .target(
            name: "EmailTransport",
            dependencies: ["PluginKit"],
            path: "plugins/Email/EmailTransport",
            sources: ["SMTP/SMTPReply.swift"]
        ),
        .target(
            name: "MQTTTransport",
            dependencies: ["PluginKit"],
            path: "plugins/MQTT/MQTTTransport",
            sources: ["Protocol/MQTTPacket.swift", "Protocol/MQTTReader.swift"]
        ),
        .target(
            name: "PlatformDocuments",
            path: "plugins",
            sources: ["APNs/APNsTransport/APNsDescription.swift", "FCM/FCMTransport/FCMDescription.swift"]
        ),
        .executableTarget(
            name: "CarillonFuzz",
            dependencies: [
                "CLibFuzzer", "CCurl", "CJSONHeader", "CarillonABI", "Cipher", "EmailTransport", "HTTPLanes", "JSON",
                "MQTTTransport", "NATS", "Nostr", "Notifications", "PlatformDocuments", "Platforms", "PluginProtocol",
                "Registry", "RelayPool", "Rules", "Units", "WebIngress", "WebPushEncryption",
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Sources"
        ),
    ],
    swiftLanguageModes: [.v6]
)

let targetsInC = ["CCurl", "CJSONHeader", "CarillonABI"]
for target in package.targets where target.type != .system && !targetsInC.contains(target.name) {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .treatAllWarnings(as: .error),
        .unsafeFlags(["-sanitize=fuzzer"]),
    ]
}
