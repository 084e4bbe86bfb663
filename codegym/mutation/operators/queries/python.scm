; What needs no more than a pattern; the other operators for Python are in modules.

;; default_return
(return_statement [(identifier) (attribute) (call) (subscript)] @at (#set! write "None"))
(return_statement [(comparison_operator) (boolean_operator)] @at (#set! write "False"))
(return_statement (binary_operator) @at (#set! write "0"))
(return_statement [(list) (list_comprehension)] @at (#not-eq? @at "[]") (#set! write "[]"))
(return_statement [(dictionary) (dictionary_comprehension)] @at (#not-eq? @at "{}")
 (#set! write "{}"))

;; dropped_case
((if_statement (elif_clause) @at) (#set! erase_lines))
((if_statement (else_clause) @at) (#set! erase_lines))
((match_statement body: (block (case_clause) @at) @all) (#many? @all) (#set! erase_lines))

;; dropped_operand
((boolean_operator left: (_) @left) @at (#set! write "@(left)"))
((boolean_operator right: (_) @right) @at (#set! write "@(right)"))

;; null_handling
((if_statement condition: (comparison_operator (_) operators: "is" (none)) !alternative) @at
 (#set! remove))
((if_statement condition: (not_operator (identifier)) !alternative) @at (#set! remove))
((conditional_expression (_) (comparison_operator operators: "is" (none)) . (_) @other) @at
 (#set! write "@(other)"))
((conditional_expression . (_) @one (comparison_operator operators: "is not" (none))) @at
 (#set! write "@(one)"))

;; removed_copy
((subscript value: (_) @inner subscript: (slice) @slice) @at (#eq? @slice ":")
 (#not-below? @at assignment delete_statement) (#set! write "@(inner)"))
((assignment right: (subscript value: (_) @inner subscript: (slice) @slice) @at)
 (#eq? @slice ":") (#set! write "@(inner)"))
((list . (list_splat (_) @inner) .) @at (#set! write "@(inner)"))
((dictionary . (dictionary_splat (_) @inner) .) @at (#set! write "@(inner)"))

;; removed_modifier
((decorated_definition (decorator (_) @name) @at)
 (#not-match? @name "^(property|staticmethod|classmethod|abstractmethod|overload|override|final|pytest|.*\\.(setter|getter|deleter))")
 (#set! erase_lines))
(class_definition superclasses: (argument_list (_) (_) @at .) (#set! item))

;; removed_wrapper
((if_statement consequence: (block) @body !alternative) @at (#set! unwrap))
((try_statement body: (block) @body) @at (#set! unwrap))
((while_statement "while" @at body: (block) @body !alternative)
 (#not-has? @body break_statement continue_statement) (#set! write "if"))

;; reordered_statements
(block (expression_statement [(assignment left: [(attribute) (subscript)] @set)
    (augmented_assignment left: (_) @set)]) @a
  . (expression_statement) @b @at
 (#mentions? @b @set) (#set! swap))
(block (expression_statement) @a
  . (expression_statement [(assignment left: [(attribute) (subscript)] @set)
    (augmented_assignment left: (_) @set)]) @b @at
 (#mentions? @a @set) (#not-match? @a "^[a-zA-Z]*['\"]") (#set! swap))

;; resource_handling
((with_statement (with_clause (with_item value: [(identifier) (attribute) (call)]))
  body: (block) @body) @at
 (#not-match? @at "^with [^:]*(suppress|raises|warns|patch|open)")
 (#not-match? @at "^with ([^:]*[._ ])?[rR]?[lL]ock") ; tests of one thread do not miss it
 (#set! unwrap))

;; swapped_operands
((binary_operator left: (_) @left operator: ["-" "/" "//" "%" "**" "<<" ">>"] @sign
  right: (_) @right) @at
 (#not-eq? @left @right) (#not-kind? @left string concatenated_string)
 (#set! write "@(right) @sign @(left)"))

;; wrong_call
((call function: (identifier) @at) (#set! other "call"))
((call function: (attribute attribute: (identifier) @at)) (#set! other "call"))
