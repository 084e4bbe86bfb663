; What TypeScript writes otherwise.

;; changed_default
(assignment_pattern right: (number) @at (#set! number))
(assignment_pattern right: [(true) (false)] @at (#set! other "flag"))
(assignment_pattern right: (string . (string_fragment) @at .) (#set! text))
(assignment_pattern right: (null) @at (#set! write "undefined"))
(object_assignment_pattern right: (number) @at (#set! number))
(object_assignment_pattern right: [(true) (false)] @at (#set! other "flag"))
(assignment_pattern right: [(array) (object)] @at (#set! write "null"))

;; removed_modifier
((class_declaration (class_heritage) @at body: (_) @body) (#not-has? @body super)
 (#set! erase))
((class (class_heritage) @at body: (_) @body) (#not-has? @body super) (#set! erase))

;; wrong_variable
(formal_parameters (identifier) @set)
(formal_parameters (assignment_pattern left: (identifier) @set))
(formal_parameters (rest_pattern (identifier) @set))
(formal_parameters (object_pattern (shorthand_property_identifier_pattern) @set))

;; wrong_attribute
(field_definition property: [(property_identifier) (private_property_identifier)] @declared)

;; null_handling
((call_expression optional_chain: _ @at) (#set! write ""))

;; default_return
(return_statement (array) @at (#set! write "[]"))
(return_statement [(identifier) (call_expression) (member_expression) (new_expression) (object)
  (subscript_expression)] @at
 (#not-eq? @at "undefined") (#not-eq? @at "null") (#set! write "undefined"))
((return_statement (binary_expression operator: ["===" "!==" "<" ">" "<=" ">=" "&&" "||"]) @at)
 (#set! write "false"))
((return_statement (binary_expression operator: ["+" "-" "*" "/" "%"]) @at) (#set! write "0"))
((return_statement [(string) (template_string)] @at) (#not-match? @at "^['\"`]{2}$")
 (#set! write "\"\""))
