/// What a notification says that may say neither who nor what (``Mode/nudge``), and what stands around a sealed one.
package struct NeutralTexts: Sendable, Hashable {
    package var title: String
    package var body: String

    package init(title: String = "", body: String = "") {
        self.title = title
        self.body = body
    }

    package var isEmpty: Bool { title.isEmpty && body.isEmpty }
}
