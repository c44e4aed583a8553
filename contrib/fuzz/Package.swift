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
        // A header for plugins, without Swift code.
        .target(
            name: "CJSONHeader",
            path: "CJSONHeader",
            cSettings: [
                .unsafeFlags(["-I", "\(Context.packageDirectory)/../../include", "-fsanitize=fuzzer-no-link"])
            ]
        ),

        .target(name: "CarillonABI", path: "abi", publicHeadersPath: "include"),

        .systemLibrary(name: "CSemaphore", path: "modules/System/CSemaphore"),
        parser("Core", path: "Base/Core", uses: ["CSemaphore"]),
        parser("JSON", path: "Base/JSON"),
        parser("Cipher", path: "Base/Cipher", uses: ["Core", "COpenSSL"]),
        parser(
            "Storage",
            path: "Base/Storage",
            uses: ["CPCRE2", "Core", "JSON", .product(name: "Yams", package: "Yams")],
            sources: ["YAML", "Pattern.swift"]
        ),
        parser("Nostr", uses: ["Cipher", "Core", "CSecp256k1", "JSON"]),
        parser("Push", uses: ["Core", "JSON", "Storage"], sources: ["Notifications", "Platforms"]),
        parser(
            "Rules",
            uses: [
                "Cipher", "Core", "JSON", "Nostr", "Push", "Storage",
                .product(name: "Mustache", package: "swift-mustache"),
            ]
        ),
        parser("Listeners", path: "HTTP/Listeners", uses: ["Core"], sources: ["ClientLimits.swift"]),
        parser(
            "WebIngress",
            path: "HTTP/WebIngress",
            uses: ["Cipher", "Core", "Listeners", "Push"],
            sources: ["PushPayload.swift", "PushRequest.swift"]
        ),
        parser(
            "Registry",
            uses: ["Cipher", "Core", "JSON", "Nostr", "Push"],
            sources: [
                "Keys/RouterKeys.swift", "Preferences", "Registration", "Secrets/AddressCodec.swift",
                "Secrets/SealingKey+Registration.swift",
            ]
        ),
        .target(name: "NIOSSL", path: "WithoutTLS"),
        parser(
            "HTTPClient",
            uses: [
                "CNghttp2", "Core", "NIOSSL", .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            sources: [
                "AddressGuard.swift", "ConnectionScope.swift", "Exchange.swift", "HTTP2",
                "HTTPFields.swift", "HTTPRequest.swift", "URLParts.swift",
            ]
        ),
        parser(
            "Relays",
            path: "Relays/Relays/Pool",
            uses: ["Core", "HTTPClient", .product(name: "NIOCore", package: "swift-nio")],
            sources: ["Connection/ConnectionLimits.swift", "Connection/FrameCutter.swift"]
        ),
        parser(
            "Cluster",
            path: "Cluster/NATS",
            sources: ["NATSError.swift", "Wire/NATSHeaders.swift", "Wire/ServerMessage.swift"]
        ),
        parser("PluginProtocol", path: "PluginHost/PluginProtocol", uses: ["CarillonABI", "Core"]),
        .target(
            name: "PluginKit",
            dependencies: ["Core"],
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
                "CLibFuzzer", "CCurl", "CJSONHeader", "CarillonABI", "Cipher", "Cluster", "Core", "EmailTransport",
                "HTTPClient", "JSON", "MQTTTransport", "Nostr", "PlatformDocuments", "PluginProtocol", "Push",
                "Registry", "Relays", "Rules", "WebIngress",
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
