import CIsolation
import CommandTestSupport
import Foundation
import Synchronization
import Testing

/// Files that the tests need: the program, built plugins, and plugins compiled from `Fixtures/guest.c`.
enum Guest {
    private static let compiled = Mutex<[[String]: String]>([:])
    private static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Gone with the tests' process at the latest when the machine starts again.
    private static let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
        .appending(path: "carillon-guests-\(ProcessInfo.processInfo.processIdentifier)")

    /// A file that a hostile plugin may be curious about.
    static let secret = folder.appending(path: "secret").path

    /// The path of the library that these macros make of the fixture.
    static func library(_ macros: String...) throws -> String { try library(macros.map { "-D" + $0 }) }

    /// The same, linked with Dispatch: the library that these tests use themselves.
    static func dispatchLibrary() throws -> String {
        let names = withUnsafeTemporaryAllocation(of: carillon_module.self, capacity: 512) { modules in
            let count = carillon_list_modules(modules.baseAddress, modules.count)
            return modules.prefix(count).compactMap { $0.name.map { String(cString: $0) } }
        }
        let path = try #require(names.first { $0.hasSuffix("/libdispatch.so") })
        let folder = URL(filePath: path).deletingLastPathComponent().path
        return try library(["-DDISPATCH", "-Wl,-rpath,\(folder)", path])
    }

    private static func library(_ flags: [String]) throws -> String {
        try compiled.withLock { compiled in
            if let path = compiled[flags] { return path }
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("secret".utf8).write(to: URL(filePath: secret))
            let output = folder.appending(path: "guest-\(compiled.count).so").path
            let source = repository.appending(path: "Tests/CarillonPluginHostTests/Fixtures/guest.c").path
            let usual = [
                "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-shared", "-fPIC", "-fno-omit-frame-pointer",
                "-I", repository.appending(path: "include").path, "-DSECRET=\"\(secret)\"",
            ]
            let result = try CommandRun("cc", usual + [source] + flags + ["-o", output])
            try #require(result.status == 0, "\(result.output)")
            compiled[flags] = output
            return output
        }
    }

    /// A file that `swift build` made, beside the running tests.
    static func built(_ name: String) throws -> String {
        let here = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let candidates = [here] + CommandLine.arguments.map { URL(filePath: $0) }
        let file = candidates.map { $0.deletingLastPathComponent().appending(path: name) }
            .first { FileManager.default.fileExists(atPath: $0.path) }
        return try #require(file, "\(name) is not beside the tests: run swift build, then the tests again").path
    }
}
