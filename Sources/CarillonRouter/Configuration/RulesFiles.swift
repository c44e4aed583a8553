import Rules
import YAMLReading

/// Rules files that together are the rules, in their order.
struct RulesFiles {
    private let paths: [String]

    init(_ paths: [String]) {
        self.paths = paths
    }

    /// Throws the mistakes of all files, each under its own path; what can be read is checked also when something cannot.
    func read() throws(Mistakes) -> RuleBook {
        var files: [RulesFile] = []
        var mistakes: [Mistake] = []
        for path in paths {
            do {
                files.append(RulesFile(name: path, text: try Configuration.text(of: path, what: "the rules")))
            } catch {
                mistakes += error.all
            }
        }
        do {
            let book = try RuleBook(files: files)
            if mistakes.isEmpty { return book }
        } catch {
            mistakes += error.all
        }
        throw Mistakes(mistakes)
    }
}
