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

/// A module and its tests, which may use what the module uses and `tests` besides. `resources` are the tests', `holds`
/// the module's.
func module(
    _ name: String,
    path: String? = nil,
    uses dependencies: [Target.Dependency] = [],
    tests: [Target.Dependency] = [],
    exclude: [String] = [],
    resources: [Resource]? = nil,
    holds: [Resource]? = nil
) -> [Target] {
    [
        .target(name: name, dependencies: dependencies, path: path, resources: holds),
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

// MARK: Base: what every stage speaks, plugins too

let base: [[Target]] = [
    // No Foundation: plugins link it.
    module("Core", path: "Sources/Base/Core", uses: ["CSemaphore"]),
    [.target(name: "JSON", path: "Sources/Base/JSON")],
    module(
        "Cipher",
        path: "Sources/Base/Cipher",
        uses: ["COpenSSL"],
        tests: ["Nostr"],
        resources: [.copy("Vectors")]
    ),
    // SQLite, YAML, our log, regular expressions.
    module(
        "Storage",
        path: "Sources/Base/Storage",
        uses: ["CPCRE2", "CSQLiteTuning", "JSON", grdb, grdbSQLite, yams, logging]
    ),
    module("Nostr", uses: ["CSecp256k1", "Cipher", "JSON"], resources: [.copy("Vectors")]),
    module(
        "Push",
        uses: ["JSON", "Storage", "Nostr", "Cipher"],
        tests: ["PlatformTestSupport"]
    ),
    [
        // The clock of tests, and times as plain numbers in them.
        .target(name: "TimeTestSupport", path: "Tests/TimeTestSupport"),
        // Numbers that are the same in each run.
        .target(name: "RandomTestSupport", path: "Tests/RandomTestSupport"),
        // Ids of deliveries as plain texts in tests.
        .target(name: "DeliveryTestSupport", dependencies: ["Push"], path: "Tests/DeliveryTestSupport"),
        // What Carillon's own transports say about their platforms, for tests of whoever reads it.
        .target(
            name: "PlatformTestSupport",
            dependencies: [
                "Push", "Rules", "Storage", "APNsTransport", "FCMTransport", "WebPushTransport",
                "UnifiedPushTransport", "NtfyTransport", "GotifyTransport", "WebhookTransport", "HTTPTemplateTransport",
                "EmailTransport", "MQTTTransport", "TelegramTransport",
            ],
            path: "Tests/PlatformTestSupport"
        ),
    ],
]

// MARK: From an event to a delivery

let stages: [[Target]] = [
    module(
        "Rules",
        uses: ["Cipher", "JSON", "Nostr", "Push", "Storage", mustache],
        tests: ["PlatformTestSupport"]
    ),
    module(
        "Registry",
        uses: ["Cipher", "JSON", "Nostr", "Push", "Storage", grdb, logging],
        tests: ["PlatformTestSupport"]
    ),
    module(
        "Pipeline",
        uses: [
            "Cipher", "JSON", "Nostr", "Push", "Registry", "Rules", "Delivery", "Storage", grdb, collections, heap,
            logging,
        ],
        tests: ["PlatformTestSupport"]
    ),
    module("Delivery", uses: ["Push", "Storage", grdb, grdbSQLite, heap, collections, logging]),
    // The traces of events, and OpenTelemetry.
    module(
        "Observability",
        uses: ["Cipher", "Delivery", "HTTPClient", "JSON", "Nostr", "Push", "Pipeline", "Storage", grdb, logging]
    ),
]

// MARK: Outgoing HTTP, and plugins in processes of their own

let outgoing: [[Target]] = [
    module(
        "HTTPClient",
        uses: [
            "CNghttp2", "CCurl", nio, nioPosix, nioHTTP1, nioTLS, nioSSL, nioExtras, collections, logging,
        ],
        tests: ["CommandTestSupport", nioConcurrency, nioEmbedded]
    ),
    // What the router and the programs that load plugins say to each other.
    module("PluginProtocol", path: "Sources/PluginHost/PluginProtocol", uses: ["CarillonABI"]),
    [
        .executableTarget(
            name: "CarillonPluginHost",
            dependencies: ["CarillonABI", "CIsolation", "PluginProtocol"],
            path: "Sources/PluginHost/CarillonPluginHost",
            // Modules are linked with what they import without using it, such as Concurrency: megabytes for each
            // process.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--as-needed"])] + shipped("$ORIGIN")
        ),
        .testTarget(
            name: "CarillonPluginHostTests",
            dependencies: ["CarillonABI", "CIsolation", "CommandTestSupport", "PluginProtocol"],
            exclude: ["Fixtures"]
        ),
    ],
    module(
        "PluginHost",
        path: "Sources/PluginHost/PluginHost",
        uses: [
            "CarillonABI", "CIsolation", "CSpawn", "Cipher", "JSON", "Push", "HTTPClient", "PluginProtocol", nio,
            nioPosix, nioTLS, nioSSL, collections, logging,
        ],
        // Plugins run in the built carillon-plugin-host, which is found beside the tests.
        tests: ["CommandTestSupport", "PluginKit", "StreamTestSupport"],
        exclude: ["Fixtures"],
        // What plugins in Python run in.
        holds: [.copy("Python/carillon-plugin-python")]
    ),
    [
        // The other side of streams.
        .target(
            name: "StreamTestSupport",
            dependencies: ["CommandTestSupport", nio, nioPosix, nioSSL],
            path: "Tests/StreamTestSupport"
        ),
        // The courier and outgoing HTTP together.
        .testTarget(
            name: "IsolationTests",
            dependencies: ["Delivery", "HTTPClient", "Push", grdb, nio, nioPosix, nioConcurrency, logging]
        ),
    ],
]

// MARK: Where events come in

let ingress: [[Target]] = [
    // Listeners, and the pages /subscribe, /me and /console. The files are part of the program.
    [.target(name: "CBrowserPages", path: "Sources/HTTP/BrowserPages/Embedded")],
    module(
        "Listeners",
        path: "Sources/HTTP/Listeners",
        uses: ["CBrowserPages", "Cipher", hummingbirdCore, nio, nioHTTP1, nioWebSocket, logging],
        tests: [nioEmbedded]
    ),
    [.target(name: "ListeningTestSupport", dependencies: [nio, nioPosix], path: "Tests/ListeningTestSupport")],
    module(
        "RelayServer",
        path: "Sources/Relays/RelayServer",
        uses: ["Cipher", "Listeners", "Nostr", nio, nioPosix, nioHTTP1, nioWebSocket, logging],
        tests: [nioEmbedded]
    ),
    module(
        "Relays",
        path: "Sources/Relays/Relays",
        uses: [
            "JSON", "Nostr", "Cipher", "Registry", "HTTPClient", "Listeners", nio, nioPosix, nioHTTP1, nioTLS,
            nioWebSocket, nioSSL, collections, heap, logging,
        ],
        tests: ["CommandTestSupport", "RelayServer", "Push", nioConcurrency, nioEmbedded]
    ),
    module(
        "WebIngress",
        path: "Sources/HTTP/WebIngress",
        uses: ["Cipher", "Push", "Listeners", hummingbirdCore, nio, logging],
        tests: ["ListeningTestSupport", "PlatformTestSupport", nioPosix, nioEmbedded]
    ),
    module(
        "Console",
        path: "Sources/HTTP/Console",
        uses: ["Cipher", "JSON", "Listeners", hummingbirdCore, nio, logging],
        tests: ["ListeningTestSupport", nioPosix]
    ),
]

// MARK: The router: what operators ask it, how it is put together, its command

let router: [[Target]] = [
    // The configuration file: reading, checking, its JSON Schema. (`Configuration` alone is a module of
    // swift-configuration.)
    [
        .target(
            name: "RouterConfiguration",
            dependencies: [
                "JSON", "Nostr", "Cipher", "Push", "RelayServer", "Relays", "Registry", "Observability", "Pipeline",
                "Rules", "WebIngress", "Listeners", "Console", "Delivery", "PluginHost", "HTTPClient", "Storage",
                logging,
            ],
            path: "Sources/Configuration"
        )
    ],
    module(
        "Operations",
        uses: [
            "RouterConfiguration", "JSON", "Nostr", "Cipher", "Push", "Relays", "Registry",
            "Observability", "Pipeline", "Rules", "Listeners", "Console", "Delivery", "PluginHost",
            "HTTPClient", "Storage", "CBuild", grdb, logging, nio, nioPosix, nioHTTP1,
        ],
        tests: ["CommandTestSupport"]
    ),
    module(
        "CarillonRouter",
        path: "Sources/Router",
        uses: [
            "RouterConfiguration", "Operations", "JSON", "Nostr", "Cipher", "Push", "RelayServer", "Relays",
            "Registry", "Observability", "Pipeline", "Rules", "Listeners", "WebIngress", "Console", "Delivery",
            "PluginHost", "HTTPClient", "CScheduling", "Storage", lifecycle, logging, nio, nioPosix,
        ],
        tests: ["CommandTestSupport", "PlatformTestSupport", grdb]
    ),
    // Several routers as one: NATS, leases, the log of each partition, handing events over, what operators do.
    module(
        "Cluster",
        uses: [
            "CarillonRouter", "Cipher", "Console", "Delivery", "HTTPClient", "Nostr", "Observability", "Operations",
            "Pipeline", "PluginHost", "Push", "Registry", "Relays", "RouterConfiguration", "Storage", grdb, collections,
            logging, nio, nioPosix, nioTLS, nioSSL,
        ],
        tests: ["CommandTestSupport", "PlatformTestSupport", heap]
    ),
    [
        // What `carillon setup` asks and writes.
        .target(name: "CSetupExamples", path: "Sources/CLI/Setup/Embedded"),
        .target(
            name: "Setup",
            dependencies: ["CSetupExamples", "Cipher", "Storage"],
            path: "Sources/CLI/Setup",
            exclude: ["Embedded"]
        ),
        .testTarget(name: "SetupTests", dependencies: ["Setup", "Cipher", "Storage"]),
        .executableTarget(
            name: "CarillonCLI",
            dependencies: [
                "CAllocator", "CPrivileges", "CarillonRouter", "Cluster", "Console", "Operations",
                "RouterConfiguration", "PluginHost", "PluginConformance", "Setup", "Nostr", "Cipher", "Push",
                "Storage", "Registry", argumentParser, lifecycle, unixSignals, logging,
            ],
            path: "Sources/CLI/CarillonCLI",
            linkerSettings: shipped("$ORIGIN/../lib/carillon")
        ),
        .target(name: "CommandTestSupport", path: "Tests/CommandTestSupport"),
        // What keeps the run of all tests short.
        .target(name: "CostTestSupport", dependencies: ["CommandTestSupport"], path: "Tests/CostTestSupport"),
        // Rules and built plugins together; the plugins are found beside the test as LinkageTests finds them.
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "CarillonRouter", "CommandTestSupport", "JSON", "Operations", "RouterConfiguration", "Rules",
                "PluginHost", "HTTPClient", "Pipeline", "Nostr", "Push", "PlatformTestSupport", "Cipher", "Storage",
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
        uses: ["CarillonABI", "JSON"],
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
        uses: ["PluginKit", "Cipher"],
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
    plugin("Email", "Transport", uses: ["Cipher"]),
    plugin("MQTT", "Transport"),
    plugin("UnifiedPush", "Transport", uses: ["WebPushMessage"], tests: ["Cipher"]),
    plugin(
        "WebPush",
        "Transport",
        uses: ["WebPushMessage", "Cipher"],
        resources: [.copy("Vectors")]
    ),
    plugin("Ntfy", "Transport", uses: ["Cipher"]),
    plugin("Gotify", "Transport"),
    plugin("Webhook", "Transport", uses: ["Cipher"]),
    plugin("Telegram", "Transport", uses: ["Cipher"]),
    plugin("HTTPTemplate", "Transport", tests: ["Storage"]),

    plugin("Mutes", "Filter"),
    plugin("WebOfTrust", "Filter"),
    plugin("Noise", "Filter"),
]
let pluginNames = [
    "APNs", "FCM", "UnifiedPush", "WebPush", "Ntfy", "Gotify", "Webhook", "HTTPTemplate", "Mutes",
    "WebOfTrust", "Noise", "Email", "MQTT", "Telegram",
]

// MARK: What plugin authors use

let authors: [[Target]] = [
    // What `carillon plugin new` writes and `carillon plugin check` runs.
    [
        .target(name: "CPluginTemplates", path: "Sources/Tools/PluginConformance/Templates/Embedded"),
        .target(
            name: "PluginConformance",
            dependencies: [
                "CPluginTemplates", "PluginHost", "PluginProtocol", "CarillonABI", "Cipher", "Push", "HTTPClient",
            ],
            path: "Sources/Tools/PluginConformance",
            exclude: ["Templates/Embedded", "Templates/Templates"]
        ),
        // Runs the built plugins as well, found beside the test as LinkageTests finds them.
        .testTarget(
            name: "PluginConformanceTests",
            dependencies: [
                "CommandTestSupport", "PluginConformance", "PluginHost", "CarillonABI", "Cipher", "Push", "HTTPClient",
            ],
            exclude: ["Fixtures"]
        ),
    ]
]

// MARK: Push services on loopback

let lab: [[Target]] = [
    module(
        "CarillonLab",
        path: "Sources/Tools/CarillonLab",
        uses: [
            "Cipher", "COpenSSL", nio, nioPosix, nioHTTP1, nioHTTP2, nioTLS, nioSSL, nioWebSocket,
            logging,
        ],
        tests: ["CarillonLabCLI", "FCMTransport", "PluginKit", "CarillonABI", "PluginTestSupport"]
    ),
    [
        .executableTarget(
            name: "CarillonLabCLI",
            dependencies: ["CarillonLab", argumentParser],
            path: "Sources/Tools/CarillonLabCLI",
            linkerSettings: shipped("$ORIGIN/../lib/carillon")
        ),
        .executableTarget(
            name: "CarillonDemo",
            dependencies: ["CarillonLab", "Nostr", "Cipher", nio, nioPosix, nioHTTP1, nioWebSocket, argumentParser],
            path: "Sources/Tools/CarillonDemo"
        ),
        // Every row of the push services' status lists, from the outbox to the lab and back, with the built plugins.
        .testTarget(
            name: "StatusTableTests",
            dependencies: [
                "CommandTestSupport", "Delivery", "PluginHost", "HTTPClient", "Push", "CarillonLab", "APNsTransport",
                "FCMTransport", "WebPushMessage", nio, nioPosix, logging,
            ]
        ),
    ],
]

// MARK: Measurements

func bench(_ name: String, _ folder: String, uses dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: "contrib/bench/\(folder)/Sources")
}

let benches: [Target] = [
    bench("ScanBench", "scan", uses: ["Nostr", "Cipher", "CSecp256k1"]),
    bench("PaceBench", "pace", uses: ["Delivery", "Nostr", "Push", "Pipeline"]),
    bench("DeliveryBench", "delivery", uses: ["Delivery", "Push", grdbSQLite, logging]),
    bench(
        "LaneBench",
        "lanes",
        uses: ["HTTPClient", "PluginHost", "Push", nio, nioPosix, logging]
    ),
    bench(
        "IsolationBench",
        "isolation",
        uses: ["CarillonABI", "PluginHost", "PluginProtocol", logging]
    ),
    bench("ChaosBench", "chaos", uses: ["ChaosKit", argumentParser]),
    .target(
        name: "ChaosKit",
        dependencies: [
            "CarillonLab", "Cipher", "Delivery", "HTTPClient", "Push", "PluginHost", nio, nioPosix, logging,
        ],
        path: "contrib/bench/chaos/Kit"
    ),
    // The built plugins under chaos; they are found beside the test too.
    .testTarget(name: "ChaosTests", dependencies: ["ChaosKit", "CarillonLab", "Delivery", "Push"]),
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
        + (base + stages + outgoing + ingress + router + plugins + authors + lab).flatMap(\.self) + benches,
    swiftLanguageModes: [.v6]
)

let inC: Set = [
    "CarillonABI", "CCurl", "CPrivileges", "CSpawn", "CIsolation", "CConfinement", "CBuild", "CPluginTemplates",
    "CBrowserPages", "CSetupExamples",
]
for target in package.targets where target.type != .system && !inC.contains(target.name) {
    target.swiftSettings = (target.swiftSettings ?? []) + swiftSettings
    // Times and sizes have the same types everywhere, and tests write them as literals.
    if !["Core", "CoreTests"].contains(target.name) { target.dependencies.append("Core") }
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
