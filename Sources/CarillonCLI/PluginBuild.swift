import Foundation

/// How a plugin's folder is built, and what comes of it.
struct PluginBuild {
    /// Why there is no plugin.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let folder: URL
    /// Nil: there is nothing to build.
    let command: [String]?
    /// The plugin's file, where it is known before the build.
    private let file: URL?
    /// Where the build leaves shared objects.
    private let results: URL

    /// Throws ``Failure`` for a folder that nothing is known to build.
    init(at path: URL) throws(Failure) {
        var isFolder: ObjCBool = false
        _ = FileManager.default.fileExists(atPath: path.path, isDirectory: &isFolder)
        guard isFolder.boolValue else {
            guard ["so", "py"].contains(path.pathExtension) else {
                throw Failure(description: "\(path.path) is neither a folder nor a .so or .py file")
            }
            (folder, command, file, results) = (path.deletingLastPathComponent(), nil, path, path)
            return
        }
        folder = path
        let has = { (name: String) in FileManager.default.fileExists(atPath: path.appending(path: name).path) }
        let python = Self.names(in: path).filter { $0.hasSuffix(".py") && !$0.hasPrefix("test") && $0 != "carillon.py" }
        if has("Cargo.toml") {
            (command, file, results) = (["cargo", "build", "--release"], nil, path.appending(path: "target/release"))
        } else if has("Package.swift") {
            (command, file, results) = (
                ["swift", "build", "-c", "release"], nil, path.appending(path: ".build/release")
            )
        } else if python.count == 1 {
            (command, file, results) = (nil, path.appending(path: python[0]), path)
        } else if has("Makefile") {
            (command, file, results) = (["make"], nil, path)
        } else {
            throw Failure(
                description: python.isEmpty
                    ? "\(path.path) has no Cargo.toml, Package.swift, Makefile or plugin in Python"
                    : "\(path.path) has several files in Python: name one of them"
            )
        }
    }

    /// Builds, and returns the plugin's file. The compiler writes to the terminal.
    func run() throws(Failure) -> URL {
        if let command {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = command
            process.currentDirectoryURL = folder
            do {
                try process.run()
            } catch {
                throw Failure(description: "cannot start \(command[0]): \(error.localizedDescription)")
            }
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw Failure(description: "\(command[0]) failed") }
        }
        if let file { return file }
        let built = Self.names(in: results).filter { $0.hasSuffix(".so") }.map { results.appending(path: $0) }
        let newest = built.max { Self.date(of: $0) < Self.date(of: $1) }
        guard let newest else { throw Failure(description: "the build left no shared object in \(results.path)") }
        return newest
    }

    /// The files whose change begins it all again: everything in the folder but what builds and tools write.
    var sources: [String] {
        if let file, command == nil { return [file.path] }
        let folders: Set = ["target", ".build", ".git", "__pycache__", "node_modules"]
        var files: [String] = []
        let keys: [URLResourceKey] = [.isDirectoryKey]
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: keys)
        while let url = found?.nextObject() as? URL, files.count < 5000 {
            if folders.contains(url.lastPathComponent) {
                found?.skipDescendants()
            } else if (try? url.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory == false,
                !["so", "o", "d"].contains(url.pathExtension), url.lastPathComponent != "run-test"
            {
                files.append(url.path)
            }
        }
        return files
    }

    private static func names(in folder: URL) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.sorted() ?? []
    }

    private static func date(of file: URL) -> Date {
        (try? file.resourceValues(forKeys: [.contentModificationDateKey]))?.contentModificationDate ?? .distantPast
    }
}
