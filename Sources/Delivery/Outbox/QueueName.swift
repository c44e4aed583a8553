/// What a queue of deliveries is called: each platform of each app has its own, so that one push service never starves another.
package struct QueueName: Hashable, Sendable {
    package var platform: String
    package var app: String

    package init(platform: String, app: String) {
        self.platform = platform
        self.app = app
    }
}
