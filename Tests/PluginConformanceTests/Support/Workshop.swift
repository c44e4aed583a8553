import Core
import CostTestSupport
import Foundation
import PluginConformance
import Testing

/// A plugin folder for one test, deleted with this object.
final class Workshop: Sendable {
    private static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    static let misbehaving = "Tests/PluginConformanceTests/Fixtures/misbehaving.c"
    static let filter = "Tests/PluginConformanceTests/Fixtures/filter.c"
    static let webhook = "contrib/examples/plugins/webhook.c"

    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "carillon-conformance-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Compiles a file of the repository, or one with an absolute path; returns the library's path.
    func compile(_ source: String, _ flags: String...) throws -> String { try compile(source, flags) }

    func compile(_ source: String, _ flags: [String]) throws -> String {
        let image = try CompiledLibrary.image(
            of: source.hasPrefix("/") ? source : Self.repository.appending(path: source).path,
            ["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", Self.repository.appending(path: "include").path] + flags
        )
        let output = folder.appending(path: "plugin.so").path
        try image.write(to: URL(filePath: output))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: output)
        return output
    }

    /// Returns the plan for a plugin made from `source` with these instructions.
    func plan(
        _ source: String,
        doing behaviour: String,
        _ flags: [String] = [],
        timeout: Duration = .seconds(5)
    ) throws -> ConformancePlan {
        ConformancePlan(
            path: try compile(source, flags),
            configurations: ["fixture": #"{"do":"\#(behaviour)"}"#],
            timeout: timeout
        )
    }

    /// Returns the path of a program that `swift build` made.
    func program(_ name: String) throws -> String { try built(name).path }

    /// Returns a product of `swift build`, found next to the running test.
    private func built(_ name: String) throws -> URL {
        let here = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let found = ([here] + CommandLine.arguments.map { URL(filePath: $0) })
            .map { $0.deletingLastPathComponent().appending(path: name) }
            .first { FileManager.default.fileExists(atPath: $0.path) }
        return try #require(found, "\(name) is not beside the tests: run swift build, then the tests again")
    }

    /// Copies a library that `swift build` made; returns the copy's path.
    func copy(_ name: String) throws -> String {
        let file = try built(name)
        let copy = folder.appending(path: name)
        try FileManager.default.copyItem(at: file, to: copy)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy.path)
        return copy.path
    }
}
