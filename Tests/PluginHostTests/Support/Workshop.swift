import CommandTestSupport
import CostTestSupport
import Foundation
import Testing

@testable import PluginHost

/// A plugin folder in which a test compiles plugins, deleted with this object.
final class Workshop: Sendable {
    static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    static let fixtures = repository.appending(path: "Tests/PluginHostTests/Fixtures")
    static let include = repository.appending(path: "include").path

    let folder: String

    init() throws {
        // Resolved, so that paths in the host's messages can be compared.
        let base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
        folder = base.appending(path: "carillon-plugins-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Compiles a fixture, or any file given by its path, to `name` in the folder. Each call writes its own file, so
    /// that tests do not share a library. `include` is the folder of the header.
    @discardableResult
    func compile(
        _ source: String,
        to name: String,
        _ flags: [String] = [],
        include: String = Workshop.include
    ) throws -> String {
        let file = source.hasPrefix("/") ? source : Self.fixtures.appending(path: source).path
        let image = try CompiledLibrary.image(
            of: file,
            ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", include] + flags
        )
        return try write(image, to: name)
    }

    @discardableResult
    func write(_ bytes: some Collection<UInt8>, to name: String) throws -> String {
        try Data(bytes).write(to: URL(filePath: path(name)))
        try permissions(0o644, of: path(name))
        return path(name)
    }

    func permissions(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    /// Loads everything in the folder.
    func load(
        pins: [String: String] = [:],
        isolation: IsolationSettings = .forTests,
        log: LogBook = LogBook()
    ) -> PluginHost {
        PluginHost(loading: PluginSearch(folders: [folder], pins: pins), isolation: isolation, log: log.logger)
    }
}

/// A key with a self-signed certificate from the openssl command.
struct KeyPair {
    let certificate: String
    let key: String

    init(in workshop: Workshop) throws {
        let (keyFile, certificateFile) = (workshop.path("key.pem"), workshop.path("certificate.pem"))
        let result = try CommandRun(
            "openssl",
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
                + ["-subj", "/CN=client", "-keyout", keyFile, "-out", certificateFile]
        )
        try #require(result.status == 0, "\(result.output)")
        key = try String(contentsOfFile: keyFile, encoding: .utf8)
        certificate = try String(contentsOfFile: certificateFile, encoding: .utf8)
    }
}
