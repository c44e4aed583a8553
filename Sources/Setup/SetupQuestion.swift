/// One question of `carillon setup`. The same question reads an operator's line and a value of an answers file.
package struct SetupQuestion: Sendable {
    /// Its name in answers files, such as `ios.topic`.
    package let key: String
    package let prompt: String
    /// One or two sentences for someone who does not know the answer.
    package let help: String
    /// What an empty line means; nil where there has to be an answer.
    package var suggestion: String?
    /// Whether a person is asked. The others have an answer that suits nearly everybody, and answers files may change
    /// it.
    package var isAsked = true
    let check: @Sendable (String) throws(SetupRefusal) -> String

    /// The answer in its one spelling. Throws what is wrong with it and what was expected.
    package func read(_ text: String) throws(SetupRefusal) -> String {
        let text = SetupText.trimmed(text)
        guard text.utf8.count <= 4_000 else { throw SetupRefusal("expected at most 4000 bytes") }
        guard !text.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) else {
            throw SetupRefusal("expected text without control characters")
        }
        guard text.isEmpty else { return try check(text) }
        guard let suggestion else { throw SetupRefusal("this needs an answer") }
        return suggestion
    }
}

/// What is wrong with an answer and what was expected.
package struct SetupRefusal: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// What setup knows of the machine: handed in, so that tests need no files.
package struct SetupMachine: Sendable {
    /// Whether root runs it, who installs a service.
    package var isRoot: Bool
    package var home: String
    package var currentFolder: String
    /// Where the plugins lie that were found beside the program; nil: nowhere.
    package var pluginFolder: String?
    /// The first 64 KiB of a file; nil where it cannot be read.
    package var read: @Sendable (String) -> String?

    package init(
        isRoot: Bool,
        home: String,
        currentFolder: String,
        pluginFolder: String?,
        read: @escaping @Sendable (String) -> String?
    ) {
        self.isRoot = isRoot
        self.home = home
        self.currentFolder = currentFolder
        self.pluginFolder = pluginFolder
        self.read = read
    }

    /// The absolute path that somebody means by `text`.
    package func path(_ text: String) -> String {
        if text == "~" { return home }
        if text.hasPrefix("~/") { return home + text.dropFirst(1) }
        if text.hasPrefix("/") { return text }
        return currentFolder + "/" + (text.hasPrefix("./") ? String(text.dropFirst(2)) : text)
    }
}

enum SetupText {
    static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    /// The members of a list that somebody wrote with commas or blanks between.
    static func members(_ text: String) -> [String] {
        text.split { $0 == "," || $0 == " " || $0 == ";" }.map(String.init)
    }

    /// `text` as a double-quoted scalar of YAML, whatever is in it.
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case _ where scalar.value < 32 || scalar.value == 127 || (0x80..<0xA0).contains(scalar.value):
                let hex = String(scalar.value, radix: 16)
                result += "\\x" + (hex.count < 2 ? "0" : "") + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
