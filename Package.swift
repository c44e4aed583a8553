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

/// Set by contrib/package/run: only what packages hold is built, hardened, and finds Swift's libraries where packages
/// put them.
let isForPackages = Context.environment["CARILLON_PACKAGE"] != nil

/// How a shipped binary is linked; `folder` leads from it to the libraries, such as `$ORIGIN/..`.
func shipped(_ folder: String) -> [LinkerSetting] {
    guard isForPackages else { return [] }
    return [
        .unsafeFlags([
            "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now",
            "-no-toolchain-stdlib-rpath", "-Xlinker", "-rpath=\(folder)",
        ])
    ]
}

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

/// A module and its tests, which may use what the module uses and `tests` besides.
func module(
    _ name: String,
    path: String? = nil,
    uses dependencies: [Target.Dependency] = [],
    tests: [Target.Dependency] = [],
    exclude: [String] = [],
    resources: [Resource]? = nil
) -> [Target] {
    [
        .target(name: name, dependencies: dependencies, path: path),
        .testTarget(
            name: name + "Tests",
            dependencies: [.byName(name: name)] + dependencies + tests,
            exclude: exclude,
            resources: resources
        ),
    ]
}

/// A plugin is three targets: the logic with its tests, and a thin one with the exported symbol. Tests link the logic
/// of many plugins into one program, which cannot hold two entry functions.
func plugin(
    _ name: String,
    _ kind: String,
    uses dependencies: [Target.Dependency] = [],
    tests: [Target.Dependency] = [],
    resources: [Resource]? = nil
) -> [Target] {
    module(
        name + kind,
        path: "Plugins/\(name)/\(name)\(kind)",
        uses: ["PluginKit"] + dependencies,
        tests: ["CarillonABI", "PluginTestSupport"] + tests,
        resources: resources
    ) + [
        .target(
            name: name + "Plugin",
            dependencies: [.byName(name: name + kind), "CarillonABI", "PluginKit"],
            path: "Plugins/\(name)/\(name)Plugin",
            linkerSettings: pluginLinkerSettings + shipped("$ORIGIN/..")
        )
    ]
}

/// A library of Debian.
func library(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
    .systemLibrary(name: name, path: "Sources/System/\(name)", pkgConfig: pkgConfig, providers: [.apt([package])])
}

// MARK: The contract with plugins, and the C libraries underneath

let underneath: [Target] = [
    .target(name: "CarillonABI", path: ".", sources: ["Sources/CarillonABI/layout.c"], publicHeadersPath: "include"),
    .testTarget(name: "CarillonABITests", dependencies: ["CarillonABI", "CommandTestSupport", "JSON"]),
    library("COpenSSL", "libcrypto", "libssl-dev"),
    library("CSecp256k1", "libsecp256k1", "libsecp256k1-dev"),
    library("CNghttp2", "libnghttp2", "libnghttp2-dev"),
    library("CLibcurl", "libcurl", "libcurl4-openssl-dev"),
    library("CPCRE2", "libpcre2-8", "libpcre2-dev"),
    .target(
        name: "CCurl",
        dependencies: ["CLibcurl"],
        path: "Sources/System/CCurl",
        linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]
    ),
    .target(name: "CPrivileges", path: "Sources/System/CPrivileges"),
    .target(name: "CAllocator", path: "Sources/System/CAllocator"),
    .target(name: "CSpawn", path: "Sources/System/CSpawn"),
    .target(name: "CBreadcrumbs", path: "Sources/System/CBreadcrumbs"),
    .target(
        name: "CIsolation",
        path: "Sources/System/CIsolation",
        linkerSettings: [.linkedLibrary("seccomp")]
    ),
    .target(name: "CSQLiteTuning", path: "Sources/System/CSQLiteTuning", linkerSettings: [.linkedLibrary("sqlite3")]),
    // The same for Python, as a library that needs nothing of Swift's.
    .target(
        name: "CConfinement",
        dependencies: ["CIsolation"],
        path: "Sources/System/CConfinement",
        linkerSettings: [.unsafeFlags(["-nostartfiles", "-static-stdlib", "-Xlinker", "--as-needed"])]
            + shipped("$ORIGIN")
    ),
    // The commit that packages are built from.
    .target(
        name: "CBuild",
        path: "Sources/System/CBuild",
        cSettings: Context.environment["CARILLON_COMMIT"].map { [.define("CARILLON_COMMIT", to: "\"\($0)\"")] }
    ),
    .systemLibrary(name: "CSemaphore", path: "Sources/System/CSemaphore"),
    .systemLibrary(name: "CScheduling", path: "Sources/System/CScheduling"),
]

// MARK: What every stage speaks

let vocabulary: [[Target]] = [
    module("Units"),
    module("WakeUps", uses: ["CSemaphore"]),
    // The clock of tests, and times as plain numbers in them.
    [.target(name: "TimeTestSupport", path: "Tests/TimeTestSupport")],
    // Numbers that are the same in each run.
    [.target(name: "RandomTestSupport", path: "Tests/RandomTestSupport")],
    module("ASCII"),
    module("Cipher", uses: ["ASCII", "COpenSSL"], tests: ["Schnorr"], resources: [.copy("Vectors")]),
    [.target(name: "Schnorr", dependencies: ["Cipher", "CSecp256k1"])],
    [.target(name: "JSON")],
    module("Nostr", uses: ["ASCII", "Cipher", "JSON", "Schnorr"], resources: [.copy("Vectors")]),
    module("Notifications"),
    // Ids of deliveries as plain texts in tests.
    [
        .target(
            name: "DeliveryTestSupport",
            dependencies: ["Notifications"],
            path: "Tests/DeliveryTestSupport"
        )
    ],
    module("Caching"),
    module("RateLimits", uses: ["Caching"]),
    module("StandardWebhooks", uses: ["Cipher"]),
    module("YAMLReading", uses: ["JSON", yams]),
    module("Patterns", uses: ["CPCRE2"]),
    module("Platforms", uses: ["JSON", "Notifications", "Patterns"], tests: ["PlatformTestSupport"]),
    [
        // What Carillon's own transports say about their platforms, for tests of whoever reads it.
        .target(
            name: "PlatformTestSupport",
            dependencies: [
                "Platforms", "Rules", "YAMLReading", "APNsTransport", "FCMTransport", "WebPushTransport",
                "UnifiedPushTransport", "NtfyTransport", "GotifyTransport", "WebhookTransport", "HTTPTemplateTransport",
                "HMSTransport", "EmailTransport", "MQTTTransport", "TelegramTransport",
            ],
            path: "Tests/PlatformTestSupport"
        )
    ],
    module("WebPushEncryption", uses: ["Cipher"], resources: [.copy("Vectors")]),
    module("Storage", uses: ["CSQLiteTuning", grdb, grdbSQLite, logging]),
    // Where our log goes, and how it looks.
    module("Logs", uses: ["JSON", logging]),
]

// MARK: Where events come in, and who is registered

let ingress: [[Target]] = [
    module("Listening", path: "Sources/Ingress/Listening", uses: ["RateLimits", nio], tests: [nioEmbedded]),
    [
        .target(
            name: "HTTPListening",
            dependencies: ["Listening", hummingbirdCore, nio, nioHTTP1, logging],
            path: "Sources/Ingress/HTTPListening"
        ),
        .target(name: "ListeningTestSupport", dependencies: [nio, nioPosix], path: "Tests/ListeningTestSupport"),
    ],
    module(
        "WebSocketFrames",
        path: "Sources/Ingress/WebSocketFrames",
        uses: [nio, nioWebSocket],
        tests: [nioEmbedded]
    ),
    module(
        "Registry",
        uses: [
            "Caching", "Cipher", "JSON", "Schnorr", "Nostr", "Notifications", "Platforms", "PluginServices",
            "RateLimits", "Storage", grdb, logging,
        ],
        tests: ["PlatformTestSupport"],
        exclude: ["make_fixtures.py"],
        resources: [.copy("Fixtures")]
    ),
    // What the pages /subscribe, /me and /console are made of. The files are part of the program.
    [
        .target(name: "CBrowserPages", path: "Sources/Ingress/BrowserPages/Embedded"),
        .target(
            name: "BrowserPages",
            dependencies: ["ASCII", "CBrowserPages", "Cipher"],
            path: "Sources/Ingress/BrowserPages",
            exclude: ["Embedded", "Shared", "Subscribe", "Me", "Console"]
        ),
        .testTarget(name: "BrowserPagesTests", dependencies: ["BrowserPages"]),
    ],
    module(
        "RelayServer",
        path: "Sources/Ingress/RelayServer",
        uses: [
            "BrowserPages", "Listening", "RateLimits", "WebSocketFrames", "Nostr", nio, nioPosix, nioHTTP1,
            nioWebSocket,
            nioConcurrency, logging,
        ],
        tests: ["Cipher", nioEmbedded]
    ),
    module(
        "RelayPool",
        path: "Sources/Ingress/RelayPool",
        uses: [
            "JSON", "Nostr", "HTTPLanes", "RateLimits", "WebSocketFrames", nio, nioPosix, nioHTTP1, nioTLS,
            nioWebSocket, nioSSL, nioConcurrency, collections, heap, logging,
        ],
        tests: ["CommandTestSupport", "RelayServer", "Cipher", nioEmbedded]
    ),
    module(
        "AccountWatch",
        path: "Sources/Ingress/AccountWatch",
        uses: ["Nostr", "Registry", "RelayPool", collections, heap, logging],
        tests: ["Schnorr", "Notifications"]
    ),
    module(
        "RemoteSigning",
        path: "Sources/Ingress/RemoteSigning",
        uses: ["Nostr", "Cipher", "Schnorr", "RateLimits", "Registry", logging],
        tests: ["Notifications"]
    ),
    module("Feed", path: "Sources/Ingress/Feed", uses: ["Nostr", logging]),
    module(
        "WebIngress",
        path: "Sources/Ingress/Web",
        uses: [
            "ASCII", "Cipher", "Notifications", "Platforms", "Listening", "RateLimits", "HTTPListening",
            "WebPushEncryption", hummingbirdCore, nio, logging,
        ],
        tests: ["ListeningTestSupport", "PlatformTestSupport", nioPosix, nioEmbedded]
    ),
]

// MARK: Several routers as one

let cluster: [[Target]] = [
    module(
        "NATS",
        uses: ["Cipher", nio, nioPosix, nioTLS, nioSSL, logging],
        tests: ["CommandTestSupport", "NATSTestSupport"]
    ),
    // Members, leases, the log of each partition, and handing events over.
    module(
        "Cluster",
        uses: ["Cipher", "Delivery", "NATS", "Notifications", grdb, collections, logging],
        tests: ["NATSTestSupport", "Storage", grdb, heap]
    ),
    // Real servers on this machine.
    [
        .target(
            name: "NATSTestSupport",
            dependencies: ["NATS", nioPosix, logging],
            path: "Tests/NATSTestSupport"
        )
    ],
]

// MARK: From an event to a delivery

let stages: [[Target]] = [
    module(
        "Rules",
        uses: [
            "Caching", "Cipher", "JSON", "Nostr", "Notifications", "Patterns", "Platforms", "YAMLReading", mustache,
        ],
        tests: ["PlatformTestSupport"]
    ),
    module(
        "Pipeline",
        uses: [
            "CSemaphore", "Caching", "Cipher", "JSON", "Nostr", "Notifications", "Registry", "Rules", "Delivery",
            "Storage", "WakeUps", grdb, collections, heap, logging,
        ],
        tests: ["Platforms", "PlatformTestSupport"]
    ),
    module("Sealing", uses: ["Nostr", "Cipher", "Notifications", "WebPushEncryption"], tests: ["Schnorr"]),
    module("EventTrace", uses: ["Nostr", "Notifications", "Pipeline", "Delivery", "Cipher", "Storage", grdb, logging]),
]

// MARK: From the outbox to the push services

let outgoing: [[Target]] = [
    module(
        "Delivery",
        uses: ["Caching", "Notifications", "Storage", "WakeUps", grdb, grdbSQLite, heap, collections, logging],
        resources: [.copy("Fixtures")]
    ),
    module(
        "Telemetry",
        uses: ["Cipher", "Delivery", "HTTPLanes", "JSON", "Nostr", "Notifications", "Pipeline", "Schnorr", logging]
    ),
    // Plugins in processes of their own: what both sides say, the router's side, the program that loads plugins.
    module("PluginServices"),
    module("PluginProtocol", uses: ["CarillonABI", "PluginServices"]),
    // TCP connections for plugins.
    module(
        "Streams",
        uses: ["HTTPLanes", nio, nioPosix, nioTLS, nioSSL, collections, logging],
        tests: ["StreamTestSupport"]
    ),
    [
        // The other side of streams.
        .target(
            name: "StreamTestSupport",
            dependencies: ["CommandTestSupport", nio, nioPosix, nioSSL],
            path: "Tests/StreamTestSupport"
        )
    ],
    module(
        "PluginIsolation",
        uses: [
            "CarillonABI", "CIsolation", "CSpawn", "PluginProtocol", "PluginServices", "Streams", "WakeUps", logging,
        ],
        tests: ["CommandTestSupport"]
    ),
    [
        .executableTarget(
            name: "CarillonPluginHost",
            dependencies: ["CarillonABI", "CIsolation", "PluginProtocol", "PluginServices"],
            // Modules are linked with what they import without using it, such as Concurrency: megabytes for each
            // process.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--as-needed"])] + shipped("$ORIGIN")
        ),
        .testTarget(
            name: "CarillonPluginHostTests",
            dependencies: ["CarillonABI", "CIsolation", "CommandTestSupport", "PluginProtocol", "PluginServices"],
            exclude: ["Fixtures"]
        ),
        // What plugins in Python run in: a program in Python, and where it lies.
        .target(name: "CarillonPluginPython", resources: [.copy("carillon-plugin-python")]),
    ],
    module(
        "PluginHost",
        uses: [
            "CBreadcrumbs", "CarillonABI", "Cipher", "JSON", "Notifications", "Platforms", "HTTPLanes",
            "PluginIsolation", "PluginProtocol", "PluginServices", "Streams", logging,
        ],
        // Plugins run in the built carillon-plugin-host, which is found beside the tests.
        tests: ["CarillonPluginPython", "CommandTestSupport", "PluginKit", "StreamTestSupport", nioPosix],
        exclude: ["Fixtures"]
    ),
    // What `carillon plugin check` runs.
    [
        .target(
            name: "PluginConformance",
            dependencies: [
                "PluginHost", "PluginIsolation", "PluginProtocol", "PluginServices", "Platforms", "CarillonABI",
                "Cipher",
                "Notifications", "HTTPLanes",
            ]
        ),
        // Runs the built plugins as well, found beside the test as LinkageTests finds them.
        .testTarget(
            name: "PluginConformanceTests",
            dependencies: [
                "CommandTestSupport", "PluginConformance", "PluginHost", "Platforms", "CarillonABI", "Cipher",
                "Notifications", "HTTPLanes",
            ],
            exclude: ["Fixtures"]
        ),
        // What `carillon plugin new` writes.
        .target(name: "CPluginTemplates", path: "Sources/PluginTemplates/Embedded"),
        .target(name: "PluginTemplates", dependencies: ["CPluginTemplates"], exclude: ["Embedded", "Templates"]),
        .testTarget(
            name: "PluginTemplatesTests",
            dependencies: [
                "CarillonPluginPython", "CommandTestSupport", "PluginConformance", "PluginIsolation", "PluginTemplates",
            ]
        ),
    ],
    module(
        "HTTPLanes",
        uses: [
            "ASCII", "CNghttp2", "CCurl", "WakeUps", nio, nioPosix, nioHTTP1, nioTLS, nioSSL, nioExtras, nioConcurrency,
            collections, logging,
        ],
        tests: ["CommandTestSupport", nioEmbedded]
    ),
    [
        // The courier and outgoing HTTP together.
        .testTarget(
            name: "IsolationTests",
            dependencies: ["Delivery", "HTTPLanes", "Notifications", grdb, nio, nioPosix, nioConcurrency, logging]
        )
    ],
]

// MARK: The router: what operators ask it, how it is put together, its command

let router: [[Target]] = [
    module(
        "Console",
        uses: [
            "ASCII", "BrowserPages", "Cipher", "Listening", "RateLimits", "HTTPListening", hummingbirdCore, nio,
            logging,
        ],
        tests: ["ListeningTestSupport", nioPosix]
    ),
    module(
        "Backup",
        uses: ["Cipher", "Delivery", "Registry", "Storage", grdb],
        tests: ["Nostr", "Notifications", "Operations", "PluginServices", "RouterConfiguration"]
    ),
    // The configuration file: reading, checking, its JSON Schema. (`Configuration` alone is a module of
    // swift-configuration.)
    [
        .target(
            name: "RouterConfiguration",
            dependencies: [
                "JSON", "Nostr", "Cipher", "Notifications", "Platforms", "RateLimits", "RelayServer", "RelayPool",
                "RemoteSigning", "AccountWatch", "Registry", "EventTrace", "Pipeline", "Rules", "WebIngress",
                "BrowserPages", "Console", "Delivery", "CarillonPluginPython", "PluginHost", "PluginIsolation",
                "HTTPLanes", "Telemetry", "YAMLReading", "Logs", logging, "Cluster", "NATS", "StandardWebhooks",
            ],
            path: "Sources/Configuration"
        ),
        .target(
            name: "Operations",
            dependencies: [
                "Backup", "RouterConfiguration", "JSON", "Nostr", "Cipher", "Notifications", "Platforms", "RateLimits",
                "RelayServer", "RelayPool", "Registry", "EventTrace", "Pipeline", "Rules", "Sealing",
                "WebPushEncryption", "Listening", "WebIngress", "Console", "Delivery", "PluginHost",
                "PluginIsolation", "HTTPLanes", "Streams", "Telemetry", "YAMLReading", "Schnorr", "Storage",
                "CPrivileges", "CBuild", grdb, logging, nio, nioPosix, nioHTTP1, nioSSL, "ASCII", "Caching",
                "HTTPListening",
                "Logs", "RemoteSigning",
                "Cluster", "NATS", "StandardWebhooks",
            ]
        ),
    ],
    module(
        "CarillonRouter",
        uses: [
            "Backup", "RouterConfiguration", "Operations", "JSON", "Nostr", "Cipher", "Notifications", "Platforms",
            "RateLimits", "RelayServer", "RelayPool", "RemoteSigning", "Feed", "AccountWatch", "Registry",
            "EventTrace", "Pipeline", "Rules", "Sealing", "Listening", "WebIngress", "Console", "Delivery",
            "PluginHost", "PluginIsolation", "PluginServices", "HTTPLanes", "Streams", "Telemetry", "YAMLReading",
            "CScheduling", "Schnorr", "Storage", "Logs", "BrowserPages", "Cluster", "NATS", lifecycle, logging, nio,
            nioPosix,
        ],
        tests: [
            "CarillonPluginPython", "CommandTestSupport", "PlatformTestSupport", "WebPushEncryption", grdb,
        ]
    ),
    [
        // What `carillon setup` asks and writes.
        .target(name: "CSetupExamples", path: "Sources/Setup/Embedded"),
        .target(name: "Setup", dependencies: ["CSetupExamples", "Cipher", "YAMLReading"], exclude: ["Embedded"]),
        .testTarget(name: "SetupTests", dependencies: ["Setup", "Cipher", "YAMLReading"]),
        .executableTarget(
            name: "CarillonCLI",
            dependencies: [
                "Backup", "CAllocator", "CarillonRouter", "Console", "Operations", "RouterConfiguration", "PluginHost",
                "PluginConformance",
                "PluginIsolation", "PluginTemplates", "Setup", "Nostr", "Cipher", "Platforms", "Storage", "YAMLReading",
                argumentParser, lifecycle, unixSignals, logging, "Logs", "Registry",
            ],
            linkerSettings: shipped("$ORIGIN/../lib/carillon")
        ),
        .target(name: "CommandTestSupport", path: "Tests/CommandTestSupport"),
        // What keeps the run of all tests short.
        .target(name: "CostTestSupport", dependencies: ["CommandTestSupport"], path: "Tests/CostTestSupport"),
        // Rules and built plugins together; the plugins are found beside the test as LinkageTests finds them.
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CarillonRouter", "Operations", "RouterConfiguration", "Rules", "PluginHost", "HTTPLanes", "Pipeline",
                "Nostr", "Notifications", "Platforms", "PlatformTestSupport", "Cipher", "Schnorr", "YAMLReading",
                logging,
            ]
        ),
    ],
]

// MARK: Plugins

let plugins: [[Target]] = [
    module(
        "PluginKit",
        path: "Plugins/PluginKit",
        uses: ["CarillonABI", "ASCII", "Caching", "JSON"],
        tests: ["PluginTestSupport"]
    ),
    [
        .target(
            name: "PluginTestSupport",
            dependencies: ["PluginKit", "CarillonABI", "Cipher"],
            path: "Tests/PluginTestSupport"
        ),
        // Reads the built libraries. It cannot depend on them: one test binary cannot hold two plugins' entry
        // functions.
        .testTarget(name: "LinkageTests", dependencies: ["CarillonABI"]),
    ],
    module(
        "WebPushMessage",
        path: "Plugins/WebPushMessage",
        uses: ["PluginKit", "WebPushEncryption", "Cipher"],
        tests: ["CarillonABI", "PluginTestSupport"],
        resources: [.copy("Vectors")]
    ),

    plugin(
        "APNs",
        "Transport",
        uses: ["Cipher"],
        tests: ["CommandTestSupport", "CarillonLab"],
        resources: [.copy("Goldens")]
    ),
    plugin("FCM", "Transport", uses: ["Cipher"]),
    plugin("HMS", "Transport", uses: ["Cipher"]),
    plugin("Email", "Transport", uses: ["Cipher"]),
    plugin("MQTT", "Transport"),
    plugin("UnifiedPush", "Transport", uses: ["WebPushMessage"], tests: ["WebPushEncryption", "Cipher"]),
    plugin(
        "WebPush",
        "Transport",
        uses: ["WebPushEncryption", "WebPushMessage", "Cipher"],
        resources: [.copy("Vectors")]
    ),
    plugin("Ntfy", "Transport", uses: ["Cipher"]),
    plugin("Gotify", "Transport"),
    plugin("Webhook", "Transport", uses: ["Cipher", "StandardWebhooks"]),
    plugin("Telegram", "Transport", uses: ["Cipher"]),
    plugin("HTTPTemplate", "Transport", tests: ["YAMLReading"]),

    plugin("Mutes", "Filter"),
    plugin("WebOfTrust", "Filter"),
    plugin("Noise", "Filter"),
]
let pluginNames = [
    "APNs", "FCM", "HMS", "UnifiedPush", "WebPush", "Ntfy", "Gotify", "Webhook", "HTTPTemplate", "Mutes",
    "WebOfTrust", "Noise", "Email", "MQTT", "Telegram",
]

// MARK: Push services on loopback

let lab: [[Target]] = [
    module(
        "CarillonLab",
        uses: [
            "Cipher", "COpenSSL", nio, nioPosix, nioHTTP1, nioHTTP2, nioTLS, nioSSL, nioWebSocket, nioConcurrency,
            logging,
        ],
        tests: ["CarillonLabCLI", "FCMTransport", "HMSTransport", "PluginKit", "CarillonABI", "PluginTestSupport"]
    ),
    [
        .executableTarget(
            name: "CarillonLabCLI",
            dependencies: ["CarillonLab", argumentParser],
            linkerSettings: shipped("$ORIGIN/../lib/carillon")
        ),
        .executableTarget(
            name: "CarillonDemo",
            dependencies: ["CarillonLab", "Nostr", "Cipher", nio, nioPosix, nioHTTP1, nioWebSocket, argumentParser]
        ),
        // Every row of the push services' status lists, from the outbox to the lab and back, with the built plugins.
        .testTarget(
            name: "StatusTableTests",
            dependencies: [
                "Delivery", "PluginHost", "HTTPLanes", "Notifications", "CarillonLab", "APNsTransport", "FCMTransport",
                "HMSTransport", "WebPushMessage", nio, nioPosix, logging,
            ]
        ),
    ],
]

// MARK: Measurements

func bench(_ name: String, _ folder: String, uses dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: "contrib/bench/\(folder)/Sources")
}

let benches: [Target] = [
    bench("ScanBench", "scan", uses: ["Nostr", "Cipher", "Schnorr", "CSecp256k1"]),
    bench("PaceBench", "pace", uses: ["Delivery", "Nostr", "Notifications", "Pipeline"]),
    bench("DeliveryBench", "delivery", uses: ["Delivery", "Notifications", grdbSQLite, logging]),
    bench("LaneBench", "lanes", uses: ["HTTPLanes", "PluginHost", "Notifications", nio, nioPosix, logging]),
    bench("IsolationBench", "isolation", uses: ["CarillonABI", "PluginIsolation", "PluginProtocol", logging]),
    bench("ChaosBench", "chaos", uses: ["ChaosKit", argumentParser]),
    .target(
        name: "ChaosKit",
        dependencies: [
            "CarillonLab", "Cipher", "Delivery", "HTTPLanes", "Notifications", "PluginHost", nio, nioPosix, logging,
        ],
        path: "contrib/bench/chaos/Kit"
    ),
    // The built plugins under chaos; they are found beside the test too.
    .testTarget(name: "ChaosTests", dependencies: ["ChaosKit", "CarillonLab", "Delivery", "Notifications"]),
]

let package = Package(
    name: "carillon",
    products: [
        .executable(name: "carillon", targets: ["CarillonCLI"]),
        .executable(name: "carillon-lab", targets: ["CarillonLabCLI"]),
        .executable(name: "carillon-demo", targets: ["CarillonDemo"]),
        .executable(name: "carillon-plugin-host", targets: ["CarillonPluginHost"]),
        .library(name: "carillon-confinement", type: .dynamic, targets: ["CConfinement"]),
        .library(name: "CarillonLab", targets: ["CarillonLab"]),
        .library(name: "PluginKit", targets: ["PluginKit", "CarillonABI"]),
    ]
        + pluginNames.map { .library(name: "Carillon\($0)", type: .dynamic, targets: ["\($0)Plugin"]) },
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: underneath
        + (vocabulary + ingress + cluster + stages + outgoing + router + plugins + lab).flatMap(\.self) + benches,
    swiftLanguageModes: [.v6]
)

let inC: Set = [
    "CarillonABI", "CCurl", "CPrivileges", "CSpawn", "CIsolation", "CConfinement", "CBuild", "CPluginTemplates",
    "CBrowserPages", "CSetupExamples",
]
for target in package.targets where target.type != .system && !inC.contains(target.name) {
    target.swiftSettings = (target.swiftSettings ?? []) + swiftSettings
    // Times and sizes have the same types everywhere, and tests write them as literals.
    if !target.name.hasPrefix("Units") { target.dependencies.append("Units") }
    if target.type == .test || target.name.hasSuffix("TestSupport") && target.name != "TimeTestSupport" {
        target.dependencies.append("TimeTestSupport")
    }
    if target.type == .test { target.dependencies += ["CostTestSupport", "DeliveryTestSupport", "RandomTestSupport"] }
}

if isForPackages {
    let left: Set = ["carillon-demo", "CarillonLab", "PluginKit"]
    package.products.removeAll { left.contains($0.name) }
    package.targets.removeAll { target in
        target.type == .test || target.name == "CarillonDemo"
            || ["Tests/", "contrib/"].contains { (target.path ?? "").hasPrefix($0) }
    }
}
