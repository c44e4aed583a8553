import CPluginTemplates
import Foundation

/// A new plugin as `carillon plugin new` writes it: source, build file, test and README. It builds with only the
/// language's compiler and passes `carillon plugin check` unchanged.
package struct PluginProject: Sendable, Hashable {
    /// The plugin's programming language.
    package enum Language: String, Sendable, Hashable, CaseIterable {
        case c
        case cpp
        case swift
        case rust
        case python
    }

    /// The plugin's type.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Carries notifications to a push service.
        case transport
        /// Decides whether an event may notify a user.
        case filter
    }

    /// A file, by its path in the plugin's directory.
    package struct File: Sendable, Hashable {
        package let path: String
        package let text: String
    }

    /// The platform, or the filter's name.
    package let name: PluginName
    package let language: Language
    package let kind: Kind
    /// The package with PluginKit, for Swift: a directory or a URL.
    package let package: String

    /// `package` is for Swift plugins: the directory or repository URL of PluginKit's package.
    package init(_ name: PluginName, _ language: Language = .c, _ kind: Kind = .transport, package: String = "") {
        self.name = name
        self.language = language
        self.kind = kind
        self.package = package
    }

    /// All its files.
    package var files: [File] {
        let texts = PluginTexts(self)
        return texts.sources + [File(path: "README.md", text: texts.readme)]
    }

    /// A single C file that needs only the headers.
    package static func sourceInC(_ name: PluginName) -> String {
        PluginTexts(PluginProject(name)).text(template_transport_c())
    }

    /// The commands that build, test and check it, to show after its creation.
    package var commands: String { PluginTexts(self).commands }

    /// Writes all files into `folder`, which may exist if it is empty. Never overwrites a file.
    package func write(to folder: URL) throws(PluginProjectError) {
        let manager = FileManager.default
        do {
            try manager.createDirectory(at: folder, withIntermediateDirectories: true)
            guard try manager.contentsOfDirectory(atPath: folder.path).isEmpty else {
                throw PluginProjectError("\(folder.path) is not empty; nothing was written")
            }
            for file in files {
                let place = folder.appending(path: file.path)
                try manager.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.text.utf8).write(to: place, options: .withoutOverwriting)
            }
        } catch let error as PluginProjectError {
            throw error
        } catch {
            throw PluginProjectError("cannot write to \(folder.path): \(error.localizedDescription)")
        }
    }
}

/// Why a plugin was not written.
package struct PluginProjectError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The name of a platform or a filter, and its forms for languages with stricter rules.
package struct PluginName: Sendable, Hashable {
    package let text: String

    /// Nil for an invalid platform name: expected 1 to 64 of a-z, 0-9, - and _.
    package init?(_ text: String) {
        let isAllowed = { (byte: UInt8) in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || Self.isDigit(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(isAllowed) else { return nil }
        self.text = text
    }

    /// `my-pager_2` as `My-pager_2`, for display.
    var title: String { text.prefix(1).uppercased() + text.dropFirst() }

    /// `my-pager_2` as `MyPager2`: a type name, which starts with a letter.
    var type: String {
        let words = text.split { $0 == "-" || $0 == "_" }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        return words.utf8.first.map { Self.isDigit($0) } ?? true ? "Plugin" + words : words
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

/// Renders the files of one new plugin: this project's examples under another name, and generated files.
struct PluginTexts {
    private typealias File = PluginProject.File

    private let project: PluginProject
    private let name: String
    private let type: String

    init(_ project: PluginProject) {
        self.project = project
        name = project.name.text
        type = project.name.type
    }

    /// All files except the README.
    var sources: [PluginProject.File] {
        switch project.language {
        case .c: inC(ending: "c", template_transport_c(), template_filter_c())
        case .cpp: inC(ending: "cpp", template_transport_cpp(), template_filter_cpp())
        case .rust: inRust
        case .swift: inSwift
        case .python: inPython
        }
    }

    /// Fills in the plugin's names. The examples are called webhook and wordlist; in other templates, placeholders are
    /// between two @.
    func text(_ template: UnsafePointer<CChar>, _ values: [String: String] = [:]) -> String {
        // C has no such type name.
        let title = project.language == .c ? project.name.title : type
        var text = String(cString: template)
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

    private func inC(
        ending: String,
        _ transport: UnsafePointer<CChar>,
        _ filter: UnsafePointer<CChar>
    ) -> [PluginProject.File] {
        let isCPP = ending == "cpp"
        let test = project.kind == .transport ? template_transport_test_c() : template_filter_test_c()
        let build = text(
            template_makefile(),
            [
                "CC": isCPP ? "CXX" : "CC", "COMPILER": isCPP ? "c++" : "cc", "FLAGS": isCPP ? "CXXFLAGS" : "CFLAGS",
                "STANDARD": isCPP ? "c++17" : "gnu11", "ENDING": ending, "BLOCK": block,
                // The pointer that such a function returns would be truncated to 32 bits.
                "ERRORS": isCPP ? "" : " -Werror=implicit-function-declaration",
            ]
        )
        return [
            File(path: "\(name).\(ending)", text: text(project.kind == .transport ? transport : filter)),
            File(path: "test.\(ending)", text: text(test)),
            File(path: "Makefile", text: build),
            verbatim("plugin.exports", template_plugin_exports()),
            verbatim("include/carillon/plugin.h", template_plugin_h()),
            verbatim("include/carillon/json.h", template_json_h()),
            verbatim("include/carillon/form.h", template_form_h()),
        ] + settings
    }

    /// The crate is next to the plugin, so that Cargo needs no network.
    private var inRust: [PluginProject.File] {
        [
            File(path: "Cargo.toml", text: text(template_cargo_toml())),
            File(
                path: "src/lib.rs",
                text: text(project.kind == .transport ? template_transport_rs() : template_filter_rs())
            ),
            verbatim("carillon-plugin/Cargo.toml", template_crate_cargo_toml()),
            verbatim("carillon-plugin/src/abi.rs", template_crate_abi_rs()),
            verbatim("carillon-plugin/src/filter.rs", template_crate_filter_rs()),
            verbatim("carillon-plugin/src/guard.rs", template_crate_guard_rs()),
            verbatim("carillon-plugin/src/host.rs", template_crate_host_rs()),
            verbatim("carillon-plugin/src/json.rs", template_crate_json_rs()),
            verbatim("carillon-plugin/src/lib.rs", template_crate_lib_rs()),
            verbatim("carillon-plugin/src/message.rs", template_crate_message_rs()),
            verbatim("carillon-plugin/src/testing.rs", template_crate_testing_rs()),
            verbatim("carillon-plugin/src/stream.rs", template_crate_stream_rs()),
            verbatim("carillon-plugin/src/testing_services.rs", template_crate_testing_services_rs()),
            verbatim("carillon-plugin/src/ticket.rs", template_crate_ticket_rs()),
            verbatim("carillon-plugin/src/timer.rs", template_crate_timer_rs()),
            verbatim("carillon-plugin/src/transport.rs", template_crate_transport_rs()),
        ] + settings
    }

    /// The router's Python module is next to the plugin, for its test and for editors.
    private var inPython: [PluginProject.File] {
        let isTransport = project.kind == .transport
        let test = isTransport ? template_transport_test_py() : template_filter_test_py()
        return [
            File(path: "\(name).py", text: text(isTransport ? template_transport_py() : template_filter_py())),
            File(path: "test.py", text: text(test)),
            File(path: "Makefile", text: text(template_makefile_python(), ["BLOCK": block])),
            verbatim("carillon.py", template_carillon_py()),
        ] + settings
    }

    private var inSwift: [PluginProject.File] {
        let isTransport = project.kind == .transport
        let logic = type + (isTransport ? "Transport" : "Filter")
        let isURL = project.package.contains("://") || project.package.hasPrefix("git@")
        let quoted = project.package.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let manifest = text(
            template_package_swift(),
            [
                "PACKAGE": Self.identity(of: project.package),
                "DEPENDENCY": isURL
                    ? ".package(url: \"\(quoted)\", branch: \"main\")" : ".package(path: \"\(quoted)\")",
            ]
        )
        let source = isTransport ? template_transport_swift() : template_filter_swift()
        let test = isTransport ? template_transport_test_swift() : template_filter_test_swift()
        let entry = text(template_entry_swift(), ["ENTRIES": isTransport ? "transports" : "filters"])
        return [
            File(path: "Package.swift", text: manifest),
            File(path: "Sources/\(logic)/\(logic).swift", text: text(source)),
            File(path: "Sources/\(type)Plugin/Entry.swift", text: entry),
            File(path: "Tests/\(logic)Tests/\(logic)Tests.swift", text: text(test)),
            verbatim("plugin.exports", template_plugin_exports()),
        ] + settings
    }

    /// Settings for `carillon plugin check`, because a filter has no sample.
    private var settings: [PluginProject.File] {
        project.kind == .filter ? [File(path: "settings.json", text: "{\"words\": [\"casino\"]}\n")] : []
    }

    private func verbatim(_ path: String, _ template: UnsafePointer<CChar>) -> PluginProject.File {
        File(path: path, text: String(cString: template))
    }

    /// SwiftPM's name of a dependency: the last part of its location.
    private static func identity(of package: String) -> String {
        let last = package.split(separator: "/").last.map(String.init) ?? package
        return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
    }

    // MARK: Texts

    /// Build, test and check.
    var commands: String {
        switch project.language {
        case .c, .cpp:
            """
            make
            make test
            make check CARILLON=carillon
            """
        case .python:
            """
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
            ? "Name the filter in `carillon.yaml`:\n\n    filter_plugins:\n      \(name): { settings: { words: [casino] } }"
            : "Give the platform to an app in `carillon.yaml`:\n\n    apps:\n      default:\n        \(name): {}"
        return text(
            template_readme_md(),
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
        case .c, .cpp, .python: "\nmake install PLUGINS=$HOME/carillon/plugins"
        case .rust, .swift:
            """

            install -m 644 \(library) ~/carillon/plugins/.\(name).so.new
            mv ~/carillon/plugins/.\(name).so.new ~/carillon/plugins/\(name).so
            """
        }
    }

    /// The build's output path.
    private var library: String {
        switch project.language {
        case .c, .cpp: "\(name).so"
        case .python: "\(name).py"
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
        case .python: "Python"
        }
    }

    private var notes: String {
        switch project.language {
        case .c, .cpp:
            """

            `include/carillon/plugin.h` is the whole contract; `json.h` reads and writes JSON, `form.h` writes forms. If the headers
            are installed, `pkg-config --cflags carillon` prints their place.

            """
        case .python:
            """

            `carillon.py` is a copy of the module that the router provides, for tests and editors: do not install it. At the top of the
            file, you can import modules of the standard library and those that are installed for the interpreter. Later, the plugin
            cannot open files.

            """
        case .rust:
            """

            `carillon-plugin` wraps the contract, `carillon/plugin.h`, in safe traits and has no dependencies. A panic becomes a
            failure of the call it happened in; that needs `panic = "unwind"`, which is Cargo's default.

            """
        case .swift:
            """

            PluginKit wraps the contract, `carillon/plugin.h`. `Package.swift` has the path of its package.
            Build with the toolchain that the router was built with: both use the same Swift runtime.

            """
        }
    }
}
