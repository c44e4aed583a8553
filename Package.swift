// swift-tools-version: 6.3

import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// Leaves `carillon_plugin_entry_v1` as the only symbol a plugin exports, and marks the library as one that is never
/// unloaded: Swift's runtime keeps pointers into it. Not `-z defs`: sanitizers leave their own symbols undefined.
let pluginLinkerSettings: [LinkerSetting] = [
    .unsafeFlags([
        "-Xlinker", "--version-script=\(Context.packageDirectory)/Plugins/plugin.exports",
        "-Xlinker", "-z", "-Xlinker", "nodelete",
    ])
]

let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket: Target.Dependency = .product(name: "NIOWebSocket", package: "swift-nio")
let nioConcurrency: Target.Dependency = .product(name: "NIOConcurrencyHelpers", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioExtras: Target.Dependency = .product(name: "NIOExtras", package: "swift-nio-extras")
let nioHTTP2: Target.Dependency = .product(name: "NIOHTTP2", package: "swift-nio-http2")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let grdbSQLite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")
let mustache: Target.Dependency = .product(name: "Mustache", package: "swift-mustache")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let collections: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")

let package = Package(
    name: "carillon",
    products: [
        .executable(name: "carillon", targets: ["CarillonCLI"]),
        .executable(name: "carillon-lab", targets: ["CarillonLabCLI"]),
        .executable(name: "carillon-demo", targets: ["CarillonDemo"]),
        .library(name: "CarillonLab", targets: ["CarillonLab"]),
        .library(name: "PluginKit", targets: ["PluginKit"]),
        .library(name: "CarillonAPNs", type: .dynamic, targets: ["APNsPlugin"]),
        .library(name: "CarillonFCM", type: .dynamic, targets: ["FCMPlugin"]),
        .library(name: "CarillonUnifiedPush", type: .dynamic, targets: ["UnifiedPushPlugin"]),
        .library(name: "CarillonWebPush", type: .dynamic, targets: ["WebPushPlugin"]),
        .library(name: "CarillonNtfy", type: .dynamic, targets: ["NtfyPlugin"]),
        .library(name: "CarillonGotify", type: .dynamic, targets: ["GotifyPlugin"]),
        .library(name: "CarillonMutes", type: .dynamic, targets: ["MutesPlugin"]),
        .library(name: "CarillonWebOfTrust", type: .dynamic, targets: ["WebOfTrustPlugin"]),
        .library(name: "CarillonNoise", type: .dynamic, targets: ["NoisePlugin"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // The contract with plugins, and the C libraries underneath.
        .target(
            name: "CarillonABI",
            path: ".",
            sources: ["Sources/CarillonABI/layout.c"],
            publicHeadersPath: "include"
        ),
        .systemLibrary(
            name: "COpenSSL",
            path: "Sources/System/COpenSSL",
            pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"])]
        ),
        .systemLibrary(
            name: "CSecp256k1",
            path: "Sources/System/CSecp256k1",
            pkgConfig: "libsecp256k1",
            providers: [.apt(["libsecp256k1-dev"])]
        ),
        .systemLibrary(
            name: "CNghttp2",
            path: "Sources/System/CNghttp2",
            pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"])]
        ),
        .systemLibrary(
            name: "CLibcurl",
            path: "Sources/System/CLibcurl",
            pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"])]
        ),
        .systemLibrary(
            name: "CPCRE2",
            path: "Sources/System/CPCRE2",
            pkgConfig: "libpcre2-8",
            providers: [.apt(["libpcre2-dev"])]
        ),
        .target(name: "CCurl", dependencies: ["CLibcurl"], path: "Sources/System/CCurl"),
        .target(name: "CPrivileges", path: "Sources/System/CPrivileges"),
        .systemLibrary(name: "CSemaphore", path: "Sources/System/CSemaphore"),

        // What every stage speaks.
        .target(name: "Cipher", dependencies: ["COpenSSL"]),
        .target(name: "Schnorr", dependencies: ["Cipher", "CSecp256k1"]),
        .target(name: "Nostr", dependencies: ["Cipher", "Schnorr"]),
        .target(name: "Notifications"),
        .target(name: "YAMLReading", dependencies: [yams]),

        // The stages, in the order of the data.
        .target(name: "Listening", dependencies: [nio], path: "Sources/Ingress/Listening"),
        .target(
            name: "RelayServer",
            dependencies: ["Listening", "Nostr", nio, nioPosix, nioHTTP1, nioWebSocket, nioConcurrency, logging],
            path: "Sources/Ingress/RelayServer"
        ),
        .target(
            name: "RelayPool",
            dependencies: [
                "Nostr", "HTTPLanes", nio, nioPosix, nioHTTP1, nioTLS, nioWebSocket, nioSSL, nioConcurrency,
                collections, heap, logging,
            ],
            path: "Sources/Ingress/RelayPool"
        ),
        .target(
            name: "RemoteSigning",
            dependencies: ["Nostr", "Cipher", "Schnorr", "Registry", logging],
            path: "Sources/Ingress/RemoteSigning"
        ),
        .target(name: "Feed", dependencies: ["Nostr", logging], path: "Sources/Ingress/Feed"),
        .target(
            name: "AccountWatch",
            dependencies: ["Nostr", "Registry", "RelayPool", collections, heap, logging],
            path: "Sources/Ingress/AccountWatch"
        ),
        .target(
            name: "HTTPListening",
            dependencies: ["Listening", hummingbirdCore, nio, nioHTTP1, logging],
            path: "Sources/Ingress/HTTPListening"
        ),
        .target(
            name: "WebIngress",
            dependencies: [
                "Cipher", "Notifications", "Listening", "HTTPListening", "WebPushEncryption", hummingbirdCore, nio,
                logging,
            ],
            path: "Sources/Ingress/Web"
        ),
        // What operators and their tools ask the running router.
        .target(
            name: "Console",
            dependencies: ["Cipher", "Listening", "HTTPListening", hummingbirdCore, nio, logging]
        ),
        .target(name: "Storage", dependencies: [grdb, logging]),
        .target(
            name: "Registry",
            dependencies: [
                "Cipher", "Schnorr", "Nostr", "Notifications", "Listening", "Storage", grdb, logging,
            ]
        ),
        .target(
            name: "Pipeline",
            dependencies: [
                "CSemaphore", "Cipher", "Nostr", "Notifications", "Registry", "Rules", "Delivery", "Storage", grdb,
                collections, heap, logging,
            ]
        ),
        .target(
            name: "EventTrace",
            dependencies: ["Nostr", "Notifications", "Pipeline", "Delivery", "Cipher", "Storage", grdb, logging]
        ),
        .target(name: "Patterns", dependencies: ["CPCRE2"]),
        .target(name: "Rules", dependencies: ["Nostr", "Notifications", "Patterns", "YAMLReading", mustache]),
        .target(name: "Sealing", dependencies: ["Nostr", "Cipher", "Notifications", "WebPushEncryption"]),
        .target(
            name: "Delivery",
            dependencies: ["Notifications", "Storage", grdb, grdbSQLite, heap, collections, logging]
        ),
        .target(name: "PluginHost", dependencies: ["CarillonABI", "Cipher", "Notifications", "HTTPLanes", logging]),
        .target(
            name: "HTTPLanes",
            dependencies: [
                "CNghttp2", "CCurl", nio, nioPosix, nioHTTP1, nioTLS, nioSSL, nioExtras, nioConcurrency, collections,
                logging,
            ]
        ),

        .executableTarget(
            name: "LaneBench",
            dependencies: ["HTTPLanes", "PluginHost", "Notifications", nio, nioPosix, logging],
            path: "contrib/bench/lanes/Sources"
        ),

        // The house put together.
        .target(
            name: "CarillonRouter",
            dependencies: [
                "Nostr", "Cipher", "Notifications", "RelayServer", "RelayPool", "RemoteSigning", "Feed", "AccountWatch",
                "Registry", "EventTrace", "Pipeline", "Rules", "Sealing", "WebPushEncryption", "Listening",
                "WebIngress", "Console", "Delivery", "PluginHost", "HTTPLanes", "YAMLReading", "Schnorr", "Storage",
                "CPrivileges", lifecycle, logging, nio, nioPosix,
            ]
        ),
        .executableTarget(
            name: "CarillonCLI",
            dependencies: [
                "CarillonRouter", "PluginHost", "Nostr", "Cipher", "Storage", "YAMLReading", argumentParser, lifecycle,
                unixSignals, logging,
            ]
        ),

        // Push services on loopback.
        .target(
            name: "CarillonLab",
            dependencies: [
                "Cipher", "COpenSSL", nio, nioPosix, nioHTTP1, nioHTTP2, nioTLS, nioSSL, nioConcurrency, logging,
            ]
        ),
        .executableTarget(name: "CarillonLabCLI", dependencies: ["CarillonLab", argumentParser]),
        .executableTarget(
            name: "CarillonDemo",
            dependencies: [
                "CarillonLab", "Nostr", "Cipher", nio, nioPosix, nioHTTP1, nioWebSocket, argumentParser,
            ]
        ),

        // Plugins: the logic is one target, the exported symbol a thin second one.
        .target(name: "PluginKit", dependencies: ["CarillonABI"], path: "Plugins/PluginKit"),
        .target(name: "WebPushEncryption", dependencies: ["Cipher"], path: "Plugins/WebPushEncryption"),
        .target(
            name: "WebPushMessage",
            dependencies: ["PluginKit", "WebPushEncryption", "Cipher"],
            path: "Plugins/WebPushMessage"
        ),
        .target(name: "APNsTransport", dependencies: ["PluginKit", "Cipher"], path: "Plugins/APNs/APNsTransport"),
        .target(
            name: "APNsPlugin",
            dependencies: ["APNsTransport", "CarillonABI", "PluginKit"],
            path: "Plugins/APNs/APNsPlugin",
            linkerSettings: pluginLinkerSettings
        ),
        .target(
            name: "UnifiedPushTransport",
            dependencies: ["PluginKit", "WebPushMessage"],
            path: "Plugins/UnifiedPush/UnifiedPushTransport"
        ),
        .target(
            name: "UnifiedPushPlugin",
            dependencies: ["UnifiedPushTransport", "CarillonABI", "PluginKit"],
            path: "Plugins/UnifiedPush/UnifiedPushPlugin",
            linkerSettings: pluginLinkerSettings
        ),

        .target(name: "FCMTransport", dependencies: ["PluginKit", "Cipher"], path: "Plugins/FCM/FCMTransport"),
        .target(
            name: "FCMPlugin",
            dependencies: ["FCMTransport", "CarillonABI", "PluginKit"],
            path: "Plugins/FCM/FCMPlugin",
            linkerSettings: pluginLinkerSettings
        ),
        .target(
            name: "WebPushTransport",
            dependencies: ["PluginKit", "WebPushEncryption", "WebPushMessage", "Cipher"],
            path: "Plugins/WebPush/WebPushTransport"
        ),
        .target(
            name: "WebPushPlugin",
            dependencies: ["WebPushTransport", "CarillonABI", "PluginKit"],
            path: "Plugins/WebPush/WebPushPlugin",
            linkerSettings: pluginLinkerSettings
        ),
        .target(name: "NtfyTransport", dependencies: ["PluginKit", "Cipher"], path: "Plugins/Ntfy/NtfyTransport"),
        .target(
            name: "NtfyPlugin",
            dependencies: ["NtfyTransport", "CarillonABI", "PluginKit"],
            path: "Plugins/Ntfy/NtfyPlugin",
            linkerSettings: pluginLinkerSettings
        ),
        .target(name: "GotifyTransport", dependencies: ["PluginKit"], path: "Plugins/Gotify/GotifyTransport"),
        .target(
            name: "GotifyPlugin",
            dependencies: ["GotifyTransport", "CarillonABI", "PluginKit"],
            path: "Plugins/Gotify/GotifyPlugin",
            linkerSettings: pluginLinkerSettings
        ),
        .target(name: "MutesFilter", dependencies: ["PluginKit"], path: "Plugins/Mutes/MutesFilter"),
        .target(
            name: "MutesPlugin",
            dependencies: ["MutesFilter", "CarillonABI", "PluginKit"],
            path: "Plugins/Mutes/MutesPlugin",
            linkerSettings: pluginLinkerSettings
        ),
        .target(name: "WebOfTrustFilter", dependencies: ["PluginKit"], path: "Plugins/WebOfTrust/WebOfTrustFilter"),
        .target(
            name: "WebOfTrustPlugin",
            dependencies: ["WebOfTrustFilter", "CarillonABI", "PluginKit"],
            path: "Plugins/WebOfTrust/WebOfTrustPlugin",
            linkerSettings: pluginLinkerSettings
        ),
        .target(name: "NoiseFilter", dependencies: ["PluginKit"], path: "Plugins/Noise/NoiseFilter"),
        .target(
            name: "NoisePlugin",
            dependencies: ["NoiseFilter", "CarillonABI", "PluginKit"],
            path: "Plugins/Noise/NoisePlugin",
            linkerSettings: pluginLinkerSettings
        ),

        // Measurements.
        .executableTarget(
            name: "ScanBench",
            dependencies: ["Nostr", "Cipher", "Schnorr", "CSecp256k1"],
            path: "contrib/bench/scan/Sources"
        ),
        .executableTarget(
            name: "DeliveryBench",
            dependencies: ["Delivery", "Notifications", grdbSQLite, logging],
            path: "contrib/bench/delivery/Sources"
        ),

        .executableTarget(
            name: "PaceBench",
            dependencies: ["Delivery", "Nostr", "Notifications", "Pipeline"],
            path: "contrib/bench/pace/Sources"
        ),
        .target(
            name: "ChaosKit",
            dependencies: [
                "CarillonLab", "Cipher", "Delivery", "HTTPLanes", "Notifications", "PluginHost", nio, nioPosix, logging,
            ],
            path: "contrib/bench/chaos/Kit"
        ),
        .executableTarget(
            name: "ChaosBench",
            dependencies: ["ChaosKit", argumentParser],
            path: "contrib/bench/chaos/Sources"
        ),

        .testTarget(name: "CipherTests", dependencies: ["Cipher", "Schnorr"], resources: [.copy("Vectors")]),
        .testTarget(name: "NostrTests", dependencies: ["Nostr", "Cipher", "Schnorr"], resources: [.copy("Vectors")]),
        .testTarget(
            name: "RegistryTests",
            dependencies: ["Registry", "Nostr", "Notifications", "Storage", "Cipher", "Schnorr", grdb],
            exclude: ["make_fixtures.py"],
            resources: [.copy("Fixtures")]
        ),
        .testTarget(
            name: "RelayServerTests",
            dependencies: [
                "RelayServer", "Listening", "Nostr", "Cipher", nio, nioPosix, nioHTTP1, nioWebSocket, nioEmbedded,
                logging,
            ]
        ),
        .testTarget(
            name: "RelayPoolTests",
            dependencies: [
                "CommandTestSupport", "RelayPool", "RelayServer", "Nostr", "Cipher", "HTTPLanes", nio, nioPosix,
                nioHTTP1, nioEmbedded, nioWebSocket, nioSSL, nioConcurrency, logging,
            ]
        ),
        .testTarget(
            name: "RemoteSigningTests",
            dependencies: ["RemoteSigning", "Registry", "Nostr", "Cipher", "Schnorr", "Notifications", logging]
        ),
        .testTarget(name: "FeedTests", dependencies: ["Feed", "Nostr", logging]),
        .testTarget(
            name: "AccountWatchTests",
            dependencies: ["AccountWatch", "RelayPool", "Registry", "Nostr", "Schnorr", "Notifications", logging]
        ),
        .testTarget(
            name: "PipelineTests",
            dependencies: [
                "Pipeline", "Registry", "Rules", "Delivery", "Nostr", "Cipher", "Notifications", grdb, logging,
            ]
        ),
        .testTarget(
            name: "EventTraceTests",
            dependencies: ["EventTrace", "Pipeline", "Delivery", "Nostr", "Cipher", "Notifications", grdb, logging]
        ),
        .testTarget(name: "YAMLReadingTests", dependencies: ["YAMLReading"]),
        .testTarget(name: "PatternsTests", dependencies: ["Patterns"]),
        .testTarget(name: "RulesTests", dependencies: ["Rules", "Nostr", "Notifications", "YAMLReading"]),
        .testTarget(
            name: "SealingTests",
            dependencies: ["Sealing", "Nostr", "Cipher", "Schnorr", "Notifications", "WebPushEncryption"]
        ),
        .testTarget(name: "ListeningTests", dependencies: ["Listening", nio, nioEmbedded]),
        .target(name: "CommandTestSupport", path: "Tests/CommandTestSupport"),
        .target(name: "ListeningTestSupport", dependencies: [nio, nioPosix], path: "Tests/ListeningTestSupport"),
        .testTarget(
            name: "ConsoleTests",
            dependencies: ["Console", "ListeningTestSupport", "Cipher", nio, nioPosix, logging]
        ),
        .testTarget(
            name: "WebIngressTests",
            dependencies: [
                "WebIngress", "Listening", "ListeningTestSupport", "Notifications", "Cipher", nio, nioPosix,
                nioEmbedded,
                logging,
            ]
        ),
        .testTarget(name: "NotificationsTests", dependencies: ["Notifications"]),
        .testTarget(name: "StorageTests", dependencies: ["Storage", grdb, logging]),
        .testTarget(
            name: "DeliveryTests",
            dependencies: ["Delivery", "Notifications", "Storage", grdb, logging],
            resources: [.copy("Fixtures")]
        ),
        // Courier and outgoing HTTP together.
        .testTarget(
            name: "IsolationTests",
            dependencies: [
                "Delivery", "HTTPLanes", "Notifications", grdb, nio, nioPosix, nioConcurrency, logging,
            ]
        ),
        .testTarget(
            name: "PluginHostTests",
            dependencies: [
                "CommandTestSupport", "PluginHost", "PluginKit", "CarillonABI", "HTTPLanes", "Notifications", logging,
            ],
            exclude: ["Fixtures"]
        ),
        // Runs the built plugins as well, found beside the test as LinkageTests finds them.
        .testTarget(
            name: "PluginConformanceTests",
            dependencies: ["CommandTestSupport", "PluginHost", "CarillonABI", "Cipher", "HTTPLanes"],
            exclude: ["Fixtures"]
        ),
        .testTarget(
            name: "HTTPLanesTests",
            dependencies: [
                "CommandTestSupport", "HTTPLanes", "CNghttp2", nio, nioPosix, nioHTTP1, nioEmbedded, nioTLS, nioSSL,
                nioConcurrency, logging,
            ]
        ),
        .target(
            name: "PluginTestSupport",
            dependencies: ["PluginKit", "CarillonABI", "Cipher"],
            path: "Tests/PluginTestSupport"
        ),
        .testTarget(name: "PluginKitTests", dependencies: ["PluginKit", "CarillonABI", "PluginTestSupport"]),
        .testTarget(
            name: "WebPushEncryptionTests",
            dependencies: ["WebPushEncryption", "Cipher"],
            resources: [.copy("Vectors")]
        ),
        .testTarget(
            name: "APNsTransportTests",
            // The lab judges what the plugin makes.
            dependencies: [
                "CommandTestSupport", "APNsTransport", "PluginKit", "CarillonABI", "Cipher", "PluginTestSupport",
                "CarillonLab",
            ],
            resources: [.copy("Goldens")]
        ),
        .testTarget(
            name: "WebPushMessageTests",
            dependencies: [
                "WebPushMessage", "WebPushEncryption", "PluginKit", "CarillonABI", "Cipher", "PluginTestSupport",
            ],
            resources: [.copy("Vectors")]
        ),
        .testTarget(
            name: "UnifiedPushTransportTests",
            dependencies: [
                "UnifiedPushTransport", "WebPushEncryption", "PluginKit", "CarillonABI", "Cipher", "PluginTestSupport",
            ]
        ),
        .testTarget(
            name: "FCMTransportTests",
            dependencies: ["FCMTransport", "PluginKit", "CarillonABI", "Cipher", "PluginTestSupport"]
        ),
        .testTarget(
            name: "WebPushTransportTests",
            dependencies: [
                "WebPushTransport", "WebPushEncryption", "PluginKit", "CarillonABI", "Cipher", "PluginTestSupport",
            ],
            resources: [.copy("Vectors")]
        ),
        .testTarget(
            name: "NtfyTransportTests",
            dependencies: ["NtfyTransport", "PluginKit", "CarillonABI", "PluginTestSupport"]
        ),
        .testTarget(
            name: "GotifyTransportTests",
            dependencies: ["GotifyTransport", "PluginKit", "CarillonABI", "PluginTestSupport"]
        ),
        .testTarget(
            name: "MutesFilterTests",
            dependencies: ["MutesFilter", "PluginKit", "CarillonABI", "PluginTestSupport"]
        ),
        .testTarget(
            name: "WebOfTrustFilterTests",
            dependencies: ["WebOfTrustFilter", "PluginKit", "CarillonABI", "PluginTestSupport"]
        ),
        .testTarget(
            name: "NoiseFilterTests",
            dependencies: ["NoiseFilter", "PluginKit", "CarillonABI", "PluginTestSupport"]
        ),
        // Reads the built libraries. It cannot depend on them: one test binary cannot hold two plugins' entry functions.
        .testTarget(name: "LinkageTests", dependencies: ["CarillonABI"]),
        .testTarget(
            name: "CarillonLabTests",
            dependencies: [
                "CarillonLab", "CarillonLabCLI", "FCMTransport", "PluginKit", "CarillonABI", "PluginTestSupport", nio,
            ]
        ),
        // Rules and built plugins together; the plugins are found beside the test as LinkageTests finds them.
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CarillonRouter", "Rules", "PluginHost", "HTTPLanes", "Pipeline", "Nostr", "Notifications", "Cipher",
                "Schnorr", "YAMLReading", logging,
            ]
        ),
        // Every row of the push services' status lists, from the outbox to the lab and back, with the built plugins.
        .testTarget(
            name: "StatusTableTests",
            dependencies: [
                "Delivery", "PluginHost", "HTTPLanes", "Notifications", "CarillonLab", "APNsTransport", "FCMTransport",
                "WebPushMessage", nio, nioPosix, logging,
            ]
        ),
        // The built plugins under chaos; they are found beside the test too.
        .testTarget(name: "ChaosTests", dependencies: ["ChaosKit", "CarillonLab", "Delivery", "Notifications"]),
        .testTarget(
            name: "CarillonRouterTests",
            dependencies: [
                "CommandTestSupport", "CarillonRouter", "AccountWatch", "Console", "Delivery", "HTTPLanes",
                "EventTrace", "Pipeline", "Registry", "RelayPool", "RelayServer", "RemoteSigning", "Rules", "Sealing",
                "WebIngress", "Nostr", "Cipher", "Notifications", "YAMLReading", grdb, logging,
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system && target.name != "CarillonABI" && target.name != "CCurl" {
    target.swiftSettings = (target.swiftSettings ?? []) + swiftSettings
}

/// `contrib/fuzz/run` builds what strangers' input reaches and no more: the modules that parse it, without those of their files that
/// need a database or a network.
if Context.environment["CARILLON_FUZZ"] == "1" {
    let parsers = [
        "Cipher", "Schnorr", "Nostr", "Notifications", "YAMLReading", "Patterns", "Rules", "WebPushEncryption",
        "COpenSSL", "CSecp256k1", "CPCRE2", "CLibcurl", "CCurl",
    ]
    package.products = [.executable(name: "carillon-fuzz", targets: ["CarillonFuzz"])]
    package.targets =
        package.targets.filter { parsers.contains($0.name) } + [
            .target(
                name: "Listening",
                path: "Sources/Ingress/Listening",
                sources: ["ClientAddress.swift", "LoopbackAddress.swift"]
            ),
            .target(
                name: "WebIngress",
                dependencies: ["Cipher", "Notifications", "Listening", "WebPushEncryption"],
                path: "Sources/Ingress/Web",
                sources: ["Request", "Payload"]
            ),
            .target(
                name: "Registry",
                dependencies: ["Cipher", "Schnorr", "Nostr", "Notifications"],
                path: "Sources/Registry",
                sources: [
                    "Content", "Wishes", "TimeZones", "Registration", "Targets/ChosenTarget.swift",
                    "PlatformCheck.swift", "Vault/AddressCodec.swift",
                    "Vault/SealingKey+Registration.swift",
                ]
            ),
            .target(
                name: "HTTPLanes",
                path: "Sources/HTTPLanes/Address",
                sources: [
                    "AddressBlock.swift", "AddressGuard.swift", "IPAddress.swift", "Origin.swift", "URLParts.swift",
                ]
            ),
            .systemLibrary(name: "CLibFuzzer", path: "contrib/fuzz/CLibFuzzer"),
            .executableTarget(
                name: "CarillonFuzz",
                dependencies: [
                    "CLibFuzzer", "CCurl", "Cipher", "HTTPLanes", "Nostr", "Notifications", "Registry", "Rules",
                    "WebIngress", "WebPushEncryption",
                ],
                path: "contrib/fuzz/Sources"
            ),
        ]
    for target in package.targets where target.type != .system && target.name != "CCurl" {
        target.swiftSettings = swiftSettings + [.unsafeFlags(["-sanitize=fuzzer"])]
    }
}
