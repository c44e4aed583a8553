/// Which plugin, with which configuration, serves a device: a platform of an app.
package struct Route: Hashable, Sendable {
    package var platform: String
    package var app: String

    package init(platform: String, app: String) {
        self.platform = platform
        self.app = app
    }
}
