/// The files of one new plugin: the examples of this project under another name, and what is written for it.
struct PluginTexts {
    private typealias File = PluginProject.File
    private typealias Resources = PackageResources

    private let project: PluginProject
    private let name: String
    private let type: String

    init(_ project: PluginProject) {
        self.project = project
        name = project.name.text
        type = project.name.type
    }

    /// All but the README.
    var sources: [PluginProject.File] {
        switch project.language {
        case .c: inC(ending: "c", Resources.transport_c_txt, Resources.filter_c_txt)
        case .cpp: inC(ending: "cpp", Resources.transport_cpp_txt, Resources.filter_cpp_txt)
        case .rust: inRust
        case .swift: inSwift
        }
    }

    /// A template with the plugin's names. The examples are called webhook and wordlist, and the places that other
    /// templates leave open stand between two @.
    func text(_ template: [UInt8], _ values: [String: String] = [:]) -> String {
        // In C no type is called so.
        let title = project.language == .c ? project.name.title : type
        var text = String(decoding: template, as: UTF8.self)
            .replacing("contrib/examples/plugins/webhook", with: name)
            .replacing(project.kind == .transport ? "webhook" : "wordlist", with: name)
            .replacing(project.kind == .transport ? "Webhook" : "Wordlist", with: title)
        let common = [
            "NAME": name, "TYPE": type, "IDENTIFIER": name.replacing("-", with: "_"), "LANGUAGE": language,
            "KIND": project.kind == .transport ? "Transport" : "Filter",
        ]
        for (key, value) in common.merging(values, uniquingKeysWith: { $1 }) { text.replace("@\(key)@", with: value) }
        return text
    }

    // MARK: The files of each language

    private func inC(ending: String, _ transport: [UInt8], _ filter: [UInt8]) -> [PluginProject.File] {
        let isCPP = ending == "cpp"
        let test = project.kind == .transport ? Resources.transport_test_c_txt : Resources.filter_test_c_txt
        let build = text(
            Resources.makefile_txt,
            [
                "CC": isCPP ? "CXX" : "CC", "COMPILER": isCPP ? "c++" : "cc", "FLAGS": isCPP ? "CXXFLAGS" : "CFLAGS",
                "STANDARD": isCPP ? "c++17" : "c11", "ENDING": ending, "BLOCK": block,
            ]
        )
        return [
            File(path: "\(name).\(ending)", text: text(project.kind == .transport ? transport : filter)),
            File(path: "test.\(ending)", text: text(test)),
            File(path: "Makefile", text: build),
            verbatim("plugin.exports", Resources.plugin_exports_txt),
            verbatim("include/carillon/plugin.h", Resources.plugin_h_txt),
            verbatim("include/carillon/json.h", Resources.json_h_txt),
        ] + settings
    }

    /// The crate lies beside the plugin, so that Cargo needs no network.
    private var inRust: [PluginProject.File] {
        [
            File(path: "Cargo.toml", text: text(Resources.cargo_toml_txt)),
            File(
                path: "src/lib.rs",
                text: text(project.kind == .transport ? Resources.transport_rs_txt : Resources.filter_rs_txt)
            ),
            verbatim("carillon-plugin/Cargo.toml", Resources.crate_cargo_toml_txt),
            verbatim("carillon-plugin/src/abi.rs", Resources.crate_abi_rs_txt),
            verbatim("carillon-plugin/src/filter.rs", Resources.crate_filter_rs_txt),
            verbatim("carillon-plugin/src/guard.rs", Resources.crate_guard_rs_txt),
            verbatim("carillon-plugin/src/host.rs", Resources.crate_host_rs_txt),
            verbatim("carillon-plugin/src/json.rs", Resources.crate_json_rs_txt),
            verbatim("carillon-plugin/src/lib.rs", Resources.crate_lib_rs_txt),
            verbatim("carillon-plugin/src/message.rs", Resources.crate_message_rs_txt),
            verbatim("carillon-plugin/src/testing.rs", Resources.crate_testing_rs_txt),
            verbatim("carillon-plugin/src/transport.rs", Resources.crate_transport_rs_txt),
        ] + settings
    }

    private var inSwift: [PluginProject.File] {
        let isTransport = project.kind == .transport
        let logic = type + (isTransport ? "Transport" : "Filter")
        let isURL = project.package.contains("://") || project.package.hasPrefix("git@")
        let quoted = project.package.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let manifest = text(
            Resources.package_swift_txt,
            [
                "PACKAGE": Self.identity(of: project.package),
                "DEPENDENCY": isURL
                    ? ".package(url: \"\(quoted)\", branch: \"main\")" : ".package(path: \"\(quoted)\")",
            ]
        )
        let source = isTransport ? Resources.transport_swift_txt : Resources.filter_swift_txt
        let test = isTransport ? Resources.transport_test_swift_txt : Resources.filter_test_swift_txt
        let entry = text(Resources.entry_swift_txt, ["ENTRIES": isTransport ? "transports" : "filters"])
        return [
            File(path: "Package.swift", text: manifest),
            File(path: "Sources/\(logic)/\(logic).swift", text: text(source)),
            File(path: "Sources/\(type)Plugin/Entry.swift", text: entry),
            File(path: "Tests/\(logic)Tests/\(logic)Tests.swift", text: text(test)),
            verbatim("plugin.exports", Resources.plugin_exports_txt),
        ] + settings
    }

    /// What `carillon plugin check` makes a filter with, which has no sample of its own.
    private var settings: [PluginProject.File] {
        project.kind == .filter ? [File(path: "settings.json", text: "{\"words\": [\"casino\"]}\n")] : []
    }

    private func verbatim(_ path: String, _ template: [UInt8]) -> PluginProject.File {
        File(path: path, text: String(decoding: template, as: UTF8.self))
    }

    /// What SwiftPM calls a package that is used: the last part of where it is.
    private static func identity(of package: String) -> String {
        let last = package.split(separator: "/").last.map(String.init) ?? package
        return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
    }

    // MARK: What people read

    /// Build, test and check.
    var commands: String {
        switch project.language {
        case .c, .cpp:
            """
            make
            make test
            make check CARILLON=carillon
            """
        case .rust:
            """
            cargo build --release
            cargo test
            carillon plugin check ./\(library)\(block)
            """
        case .swift:
            """
            swift build -c release
            swift test
            carillon plugin check ./\(library)\(block)
            """
        }
    }

    var readme: String {
        let isFilter = project.kind == .filter
        let configured =
            isFilter
            ? "Name the filter in `carillon.yaml`:\n\n    filters:\n      \(name): { settings: { words: [casino] } }"
            : "Give the platform to an app in `carillon.yaml`:\n\n    apps:\n      default:\n        \(name): {}"
        return text(
            Resources.readme_md_txt,
            [
                "KIND": project.kind.rawValue,
                "PURPOSE": isFilter
                    ? " It drops events with one of the operator's words."
                    : " It posts each notification as JSON to the device's URL.",
                "BUILD": (commands + install).split(separator: "\n").map { "    \($0)" }.joined(separator: "\n"),
                "NOTES": notes, "CONFIGURE": configured,
            ]
        )
    }

    private var install: String {
        switch project.language {
        case .c, .cpp: "\nmake install PLUGINS=$HOME/carillon/plugins"
        case .rust, .swift:
            """

            install -m 644 \(library) ~/carillon/plugins/.\(name).so.new
            mv ~/carillon/plugins/.\(name).so.new ~/carillon/plugins/\(name).so
            """
        }
    }

    /// Where the build puts it.
    private var library: String {
        switch project.language {
        case .c, .cpp: "\(name).so"
        case .rust: "target/release/libcarillon_\(name.replacing("-", with: "_")).so"
        case .swift: ".build/release/lib\(type).so"
        }
    }

    private var block: String { project.kind == .filter ? " --block \(name)=settings.json" : "" }

    private var language: String {
        switch project.language {
        case .c: "C"
        case .cpp: "C++"
        case .swift: "Swift"
        case .rust: "Rust"
        }
    }

    private var notes: String {
        switch project.language {
        case .c, .cpp:
            """

            `include/carillon/plugin.h` is the whole contract; `json.h` reads and writes JSON. Where the headers are installed,
            `pkg-config --cflags carillon` says where.

            """
        case .rust:
            """

            `carillon-plugin` wraps the contract, `carillon/plugin.h`, in safe traits and has no dependencies. A panic becomes a
            failure of the call it happened in; that needs `panic = "unwind"`, which is Cargo's default.

            """
        case .swift:
            """

            PluginKit wraps the contract, `carillon/plugin.h`. `Package.swift` says where the package is that it belongs to.
            Build with the toolchain that the router was built with: both use the same Swift runtime.

            """
        }
    }
}
