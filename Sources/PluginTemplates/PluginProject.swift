import CPluginTemplates
import Foundation

/// A new plugin as `carillon plugin new` writes it: source, build file, test and README. It builds with the language's
/// compiler alone and passes `carillon plugin check` as it is.
package struct PluginProject: Sendable, Hashable {
    /// What a plugin is written in.
    package enum Language: String, Sendable, Hashable, CaseIterable {
        case c
        case cpp
        case swift
        case rust
        case python
    }

    /// What a plugin does.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Carries notifications to a push service.
        case transport
        /// Decides whether an event may wake somebody.
        case filter
    }

    /// A file, by its path in the plugin's folder.
    package struct File: Sendable, Hashable {
        package let path: String
        package let text: String
    }

    /// The platform, or the filter's name.
    package let name: PluginName
    package let language: Language
    package let kind: Kind
    /// Where the package with PluginKit is, for Swift: a folder or a URL.
    package let package: String

    /// `package` is for plugins in Swift: the folder, or the URL of the repository, that PluginKit is in.
    package init(_ name: PluginName, _ language: Language = .c, _ kind: Kind = .transport, package: String = "") {
        self.name = name
        self.language = language
        self.kind = kind
        self.package = package
    }

    /// Everything that belongs to it.
    package var files: [File] {
        let texts = PluginTexts(self)
        return texts.sources + [File(path: "README.md", text: texts.readme)]
    }

    /// The one file in C that needs nothing beside it but the headers.
    package static func sourceInC(_ name: PluginName) -> String {
        PluginTexts(PluginProject(name)).text(template_transport_c())
    }

    /// The commands that build, test and judge it, for whoever has just made it.
    package var commands: String { PluginTexts(self).commands }

    /// Writes all files into `folder`, which may exist if it is empty. Nothing is overwritten.
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

/// The name of a platform or a filter, and what it becomes where a language allows less.
package struct PluginName: Sendable, Hashable {
    package let text: String

    /// Nil for a name that no platform can have: expected 1 to 64 of a-z, 0-9, - and _.
    package init?(_ text: String) {
        let isAllowed = { (byte: UInt8) in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || Self.isDigit(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(isAllowed) else { return nil }
        self.text = text
    }

    /// `my-pager_2` as `My-pager_2`: for people.
    var title: String { text.prefix(1).uppercased() + text.dropFirst() }

    /// `my-pager_2` as `MyPager2`: a type. A type begins with a letter.
    var type: String {
        let words = text.split { $0 == "-" || $0 == "_" }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        return words.utf8.first.map { Self.isDigit($0) } ?? true ? "Plugin" + words : words
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
